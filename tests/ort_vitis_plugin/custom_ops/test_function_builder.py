"""The steps of which functions are made: half to even, saturation that keeps NaN and -0.0, vectors along an axis."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from ort_vitis_plugin.custom_ops.function_builder import Body


def computed(build: Callable[[Body], object], x: np.ndarray) -> np.ndarray:
    """What the built nodes make of x."""
    body = Body(17)
    build(body)
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    ends = [helper.make_value_info(body.nodes[-1].output[0], helper.make_tensor_type_proto(kind, None))]
    graph = helper.make_graph(body.nodes, "one", [helper.make_tensor_value_info("x", kind, x.shape)], ends)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (found,) = ReferenceEvaluator(model).run(None, {"x": x})
    return np.asarray(found)


@pytest.mark.parametrize(("dtype", "kind"), [(np.float32, TensorProto.FLOAT), (np.float64, TensorProto.DOUBLE)])
def test_halves_go_to_the_even_code_and_lose_their_sign_at_zero(dtype: type, kind: int) -> None:
    x = np.array([-2.5, -1.5, -0.5, -0.3, 0.5, 1.5, 2.4999998, 1e6 + 0.5], dtype)
    found = computed(lambda body: body.rounded("x", kind), x)
    np.testing.assert_array_equal(found, np.rint(x))
    assert not np.signbit(found[x == -0.5]).any()


def test_saturation_keeps_nan_and_the_sign_of_zero() -> None:
    x = np.array([-9.0, -0.0, 0.5, 9.0, np.nan, np.inf], np.float32)
    found = computed(lambda body: body.saturated("x", body.constant(np.array(2.0, np.float32))), x)
    np.testing.assert_array_equal(found, np.array([-2.0, -0.0, 0.5, 2.0, np.nan, 2.0], np.float32))
    assert np.signbit(found[1])


def test_nan_gives_the_bound() -> None:
    x = np.array([-9.0, np.nan, 3.0], np.float32)
    found = computed(lambda body: body.at_least("x", body.constant(np.array(1.0, np.float32))), x)
    np.testing.assert_array_equal(found, np.float32([1.0, 1.0, 3.0]))


def test_names_are_fresh_unless_one_is_given() -> None:
    body = Body(17)
    names = [body.call("Relu", "x"), body.call("Relu", "x"), body.call("Relu", "x", result="y")]
    assert len(set(names)) == 3
    assert names[-1] == "y"
