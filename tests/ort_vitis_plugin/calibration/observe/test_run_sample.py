"""What a sample raises, in its reader or in the model, names its number."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import onnxruntime as ort
import pytest

from ort_vitis_plugin.calibration.observe.run_sample import numbered, outputs_of
from ort_vitis_plugin.errors import CalibrationError, OutOfMemoryError
from ort_vitis_plugin.testing import graph

MODEL = graph("t (float[2] x) => (float[2] y) { y = Relu(x) }")


def session() -> ort.InferenceSession:
    return ort.InferenceSession(MODEL.SerializeToString(), providers=["CPUExecutionProvider"])


def test_feeds_pass_and_an_error_has_the_number_behind_them() -> None:
    def feeds() -> Iterator[dict[str, np.ndarray]]:
        yield {"x": np.zeros(2, np.float32)}
        raise RuntimeError("disk")

    source = numbered(feeds(), 7)
    assert list(next(source)) == ["x"]
    with pytest.raises(RuntimeError, match="disk") as caught:
        next(source)
    assert any("at sample 8" in note for note in caught.value.__notes__)


def test_outputs_are_those_of_the_session() -> None:
    (y,) = outputs_of(session(), ["y"], {"x": np.array([-1, 2], np.float32)}, 0)
    np.testing.assert_array_equal(y.numpy(), [0, 2])


def test_a_sample_that_does_not_fit() -> None:
    with pytest.raises(CalibrationError, match="cannot be run on calibration sample 3"):
        outputs_of(session(), ["y"], {"x": np.zeros((2, 2), np.float32)}, 3)


def test_out_of_memory_is_called_so(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hungry:
        def run_with_ort_values(self, names: object, feeds: object) -> list[object]:
            raise MemoryError

    with pytest.raises(OutOfMemoryError, match="calibration sample 4"):
        outputs_of(cast(Any, Hungry()), ["y"], {"x": np.zeros(2, np.float32)}, 4)
