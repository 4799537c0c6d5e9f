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


def test_texts_count_and_data_that_lie_elsewhere_count_by_their_place() -> None:
    def mark(text: str, place: str) -> str:
        model = network()
        aside = model.graph.initializer.add(name="aside", data_type=onnx.TensorProto.FLOAT, dims=[1])
        aside.data_location = onnx.TensorProto.EXTERNAL
        aside.external_data.add(key="location", value=place)
        model.graph.initializer.append(onnx.helper.make_tensor("s", onnx.TensorProto.STRING, [1], [text]))
        return fingerprint(model)

    assert mark("a", "x.data") == mark("a", "x.data")
    assert len({mark("a", "x.data"), mark("b", "x.data"), mark("a", "y.data")}) == 3
