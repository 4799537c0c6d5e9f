"""Operators that move values give nothing but values of their input, and those that reshape keep the order."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from ort_vitis_plugin.graph.op_sets import MOVES, RESHAPES

X = np.arange(24, dtype=np.float32).reshape(2, 1, 3, 4)
INPUTS: dict[str, list[list[int]]] = {
    "Reshape": [[4, 6]],
    "Squeeze": [[1]],
    "Unsqueeze": [[0]],
    "Slice": [[1], [3], [3]],
    "Gather": [[1, 0, 1]],
    "Expand": [[2, 2, 3, 4]],
    "Tile": [[1, 2, 1, 1]],
}
ATTRIBUTES: dict[str, dict[str, object]] = {"Split": {"axis": 3, "num_outputs": 2}, "Gather": {"axis": 2}}


def outputs(op_type: str) -> list[np.ndarray]:
    given = [numpy_helper.from_array(np.array(values), f"i{at}") for at, values in enumerate(INPUTS.get(op_type, []))]
    names = ["y", "z"] if op_type == "Split" else ["y"]
    node = helper.make_node(op_type, ["x", *(each.name for each in given)], names, **ATTRIBUTES.get(op_type, {}))
    ends = [helper.make_value_info(name, helper.make_tensor_type_proto(1, None)) for name in names]
    start = helper.make_tensor_value_info("x", 1, X.shape)
    graph = helper.make_graph([node], "one", [start], ends, given)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    return ReferenceEvaluator(model).run(None, {"x": X})


@pytest.mark.parametrize("op_type", sorted(MOVES))
def test_every_value_was_there_before(op_type: str) -> None:
    for found in outputs(op_type):
        assert found.size
        assert set(found.ravel()) <= set(X.ravel())


@pytest.mark.parametrize("op_type", sorted(RESHAPES))
def test_reshapes_keep_the_order(op_type: str) -> None:
    (found,) = outputs(op_type)
    np.testing.assert_array_equal(found.ravel(), X.ravel())
