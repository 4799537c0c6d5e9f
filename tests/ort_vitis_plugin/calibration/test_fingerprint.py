"""The fingerprint of a model is that of what it computes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from ort_vitis_plugin.calibration import fingerprint
from tests.ort_vitis_plugin.calibration.sources import (
    network,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_the_fingerprint_is_that_of_what_is_computed(tmp_path: Path) -> None:
    model = network()
    mark = fingerprint(model)
    model.doc_string, model.producer_name = "words", "someone"
    model.graph.value_info.clear()
    assert fingerprint(model) == mark
    for tensor in model.graph.initializer:
        tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor), tensor.name))
    assert fingerprint(model) == mark
    onnx.save(model, str(tmp_path / "a.onnx"))
    onnx.save(model, str(tmp_path / "b.onnx"), save_as_external_data=True, size_threshold=0)
    assert fingerprint(tmp_path / "a.onnx") == fingerprint(tmp_path / "b.onnx") == mark
