"""An input says what it takes, and casts what loses nothing."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from ort_vitis_plugin.data_readers.model_inputs import Input, inputs_of
from ort_vitis_plugin.errors import CalibrationError
from ort_vitis_plugin.testing import graph


def test_constants_that_are_listed_are_none() -> None:
    model = graph("t (float[N,3] x, int64[2] n) => (float[N,3] y) { y = Add(x, w) }", 17, {"w": np.ones(3, np.float32)})
    model.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [3]))
    found = inputs_of(model)
    assert list(found) == ["x", "n"]
    assert (found["x"].dtype, found["x"].shape, found["x"].batch) == (np.float32, (None, 3), None)
    assert found["n"].describe() == "int64 [2]"


def test_one_sample_lacks_the_batch() -> None:
    taken = Input("x", np.dtype(np.float32), (1, 3, 2))
    assert taken.lacks_batch(np.zeros((3, 2)))
    assert not taken.lacks_batch(np.zeros((1, 3, 2)))


@pytest.mark.parametrize(("given", "taken"), [(np.float64, np.float32), (np.int64, np.int32), (np.uint8, np.int64)])
def test_the_same_kind_of_number_is_cast(given: type, taken: type) -> None:
    cast = Input("x", np.dtype(taken)).cast(np.array([1, 2], given), "here")
    assert cast.dtype == taken
    np.testing.assert_array_equal(cast, [1, 2])


@pytest.mark.parametrize(
    ("array", "taken", "message"),
    [
        (np.array([300]), np.uint8, "do not fit"),
        (np.array([1], np.uint8), np.float32, "say how with transform="),
        (np.array([1.5]), np.int64, "say how with transform="),
    ],
)
def test_what_would_lose_is_refused(array: np.ndarray, taken: type, message: str) -> None:
    with pytest.raises(CalibrationError, match=message):
        Input("x", np.dtype(taken)).cast(array, "here")


def test_texts_have_a_shape_alone_and_what_is_no_tensor_has_neither() -> None:
    model = graph("t (string[N,3] s) => (string[N,3] y) { y = Identity(s) }")
    model.graph.input.append(helper.make_tensor_sequence_value_info("q", TensorProto.FLOAT, [3]))
    model.graph.input.append(helper.make_tensor_value_info("u", TensorProto.FLOAT, None))
    found = inputs_of(model)
    assert (found["s"].dtype, found["s"].shape) == (None, (None, 3))
    assert (found["q"].dtype, found["q"].shape) == (None, None)
    assert (found["u"].dtype, found["u"].shape) == (np.float32, None)
