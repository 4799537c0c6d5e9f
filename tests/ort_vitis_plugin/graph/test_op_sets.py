"""What the operators of a set have in common, by ONNX's own reference and schemas."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from onnx import defs, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from ort_vitis_plugin.graph.op_sets import CLAMP_OPS, MOVES, PRODUCTS, RESHAPES, SIZE_OPS, SOFTMAXES, WITH_BIAS

X = np.arange(24, dtype=np.float32).reshape(2, 1, 3, 4)
INPUTS: dict[str, list[list[int]] | list[list[float]]] = {
    "Reshape": [[4, 6]],
    "Squeeze": [[1]],
    "Unsqueeze": [[0]],
    "Slice": [[1], [3], [3]],
    "Gather": [[1, 0, 1]],
    "Expand": [[2, 2, 3, 4]],
    "Tile": [[1, 2, 1, 1]],
    "Clip": [[3.0], [7.0]],
}
ATTRIBUTES: dict[str, dict[str, object]] = {"Split": {"axis": 3, "num_outputs": 2}, "Gather": {"axis": 2}}


def constant(values: list[int] | list[float]) -> np.ndarray:
    return np.float32(values).reshape(()) if isinstance(values[0], float) else np.array(values)


def outputs(op_type: str, x: np.ndarray = X) -> list[np.ndarray]:
    given = [numpy_helper.from_array(constant(values), f"i{at}") for at, values in enumerate(INPUTS.get(op_type, []))]
    names = ["y", "z"] if op_type == "Split" else ["y"]
    node = helper.make_node(op_type, ["x", *(each.name for each in given)], names, **ATTRIBUTES.get(op_type, {}))
    ends = [helper.make_value_info(name, helper.make_tensor_type_proto(1, None)) for name in names]
    start = helper.make_tensor_value_info("x", 1, X.shape)
    graph = helper.make_graph([node], "one", [start], ends, given)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    return ReferenceEvaluator(model).run(None, {"x": x})


@pytest.mark.parametrize("op_type", sorted(MOVES))
def test_every_value_was_there_before(op_type: str) -> None:
    for found in outputs(op_type):
        assert found.size
        assert set(found.ravel()) <= set(X.ravel())


@pytest.mark.parametrize("op_type", sorted(RESHAPES))
def test_reshapes_keep_the_order(op_type: str) -> None:
    (found,) = outputs(op_type)
    np.testing.assert_array_equal(found.ravel(), X.ravel())


@pytest.mark.parametrize("op_type", sorted(PRODUCTS))
def test_a_bias_is_the_third_input(op_type: str) -> None:
    assert (len(defs.get_schema(op_type, 21).inputs) == 3) == (op_type in WITH_BIAS)


@pytest.mark.parametrize("op_type", sorted(CLAMP_OPS))
def test_what_is_clamped_stays(op_type: str) -> None:
    (once,) = outputs(op_type, X - 5)
    (twice,) = outputs(op_type, once)
    np.testing.assert_array_equal(twice, once)
    assert (once != X - 5).any()


@pytest.mark.parametrize("op_type", sorted(SIZE_OPS))
def test_a_size_reads_no_values(op_type: str) -> None:
    assert [each.tolist() for each in outputs(op_type)] == [each.tolist() for each in outputs(op_type, -X)]


@pytest.mark.parametrize("op_type", sorted(SOFTMAXES))
def test_a_softmax_gives_rows_of_probabilities(op_type: str) -> None:
    (found,) = outputs(op_type)
    np.testing.assert_allclose((found if op_type == "Softmax" else np.exp(found)).sum(-1), 1, rtol=1e-6)
