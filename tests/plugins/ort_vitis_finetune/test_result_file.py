"""A result file serves the same call again, and no other; what is no result file stays as it is."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from onnx import ModelProto

from ort_vitis_finetune import finetune, result_file
from ort_vitis_plugin.api import CalibrationError
from tests.plugins.ort_vitis_finetune.chain import chain, pictures, rounded, session


def test_a_result_file_is_taken_for_the_same_and_for_nothing_else(tmp_path: Path) -> None:
    reference, path = chain(), tmp_path / "found.npz"
    simulation, feeds = rounded(reference), pictures(8)
    first = finetune(reference, simulation, feeds, session, result_path=path)
    written = path.stat().st_mtime_ns

    def none(_: ModelProto) -> ort.InferenceSession:
        raise AssertionError("nothing is run")

    second = finetune(reference, simulation, feeds, none, result_path=path)
    assert second.reused
    assert second.layers == first.layers
    assert second.weights.keys() == first.weights.keys()
    assert second.biases.keys() == first.biases.keys()
    for name, array in first.weights.items():
        assert second.weights[name].tobytes() == array.tobytes()
    assert path.stat().st_mtime_ns == written
    other = finetune(reference, simulation, pictures(8, 1), session, result_path=path)
    assert not other.reused
    assert list(tmp_path.iterdir()) == [path]


ANOTHER = io.BytesIO()
np.savez(ANOTHER, x=np.zeros(3))


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04" + bytes(40), ANOTHER.getvalue()])
def test_a_file_that_is_no_result_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "found.npz"
    path.write_bytes(content)
    with pytest.raises(CalibrationError, match="is no ResultFile of FastFinetune"):
        result_file.check(path)
    with pytest.raises(CalibrationError, match="is no ResultFile of FastFinetune"):
        finetune(chain(), rounded(chain()), pictures(8), session, result_path=path)
    assert path.read_bytes() == content
