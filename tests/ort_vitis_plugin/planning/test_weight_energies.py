"""Which energy belongs to which element of a weight, for every operator that has weights."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.graph.weighted_inputs import weighted_inputs
from ort_vitis_plugin.planning.weight_energies import WeightEnergies, channels_of

if TYPE_CHECKING:
    from onnx import ModelProto

# Operator -> attributes, shape of the data, shape of the weight.
CASES: dict[str, tuple[str, dict[str, Any], list[int], list[int]]] = {
    "Conv": ("Conv", {}, [2, 4, 5, 5], [6, 4, 3, 3]),
    "Conv with groups": ("Conv", {"group": 2}, [2, 4, 5, 5], [6, 2, 3, 3]),
    "depthwise": ("Conv", {"group": 4}, [2, 4, 5, 5], [8, 1, 3, 3]),
    "Conv of one axis": ("Conv", {}, [2, 4, 9], [6, 4, 3]),
    "ConvTranspose": ("ConvTranspose", {}, [2, 4, 5, 5], [4, 3, 2, 2]),
    "Gemm": ("Gemm", {}, [3, 4], [4, 7]),
    "Gemm, transposed": ("Gemm", {"transB": 1}, [3, 4], [7, 4]),
    "Gemm of a transposed input": ("Gemm", {"transA": 1}, [4, 3], [4, 7]),
    "MatMul": ("MatMul", {}, [2, 3, 4], [4, 7]),
}


def model(case: str) -> ModelProto:
    op_type, attributes, data, weight = CASES[case]
    draw = np.random.default_rng(0)
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node(op_type, ["x", "w"], ["y"], "node", **attributes)],
        "one",
        [value("x", TensorProto.FLOAT, data)],
        [value("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(draw.normal(size=weight).astype(np.float32), "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("case", CASES)
def test_what_is_0_counts_nothing(case: str) -> None:
    """With one live input channel, an element counts exactly where changing it changes the output."""
    made, (_, _, shape, _) = model(case), CASES[case]
    graph = Graph(made)
    (found,) = weighted_inputs(graph)
    axis = found.axis % len(shape)
    x = np.zeros(shape, np.float32)
    x[tuple(1 if at == axis else slice(None) for at in range(len(shape)))] = 1.0
    energy = (x.astype(np.float64) ** 2).mean(axis=tuple(at for at in range(len(shape)) if at != axis))
    importance = WeightEnergies(graph, {channels_of(found): energy}).importance("w")
    assert importance is not None
    w = graph.array("w")
    assert w is not None
    assert importance.shape == w.shape
    whole = ort.InferenceSession(made.SerializeToString()).run(None, {"x": x})[0]
    for at in np.ndindex(*w.shape):
        changed = w.copy()
        changed[at] += 1
        made.graph.initializer[0].CopyFrom(numpy_helper.from_array(changed, "w"))
        differs = not np.allclose(ort.InferenceSession(made.SerializeToString()).run(None, {"x": x})[0], whole)
        assert differs == (importance[at] > 0), at
        if w.size > 100 and at[-1] == w.shape[-1] - 1 and at[0] > 2:
            break


def test_what_is_not_known_or_0_everywhere_has_no_importance() -> None:
    graph = Graph(model("Conv"))
    (found,) = weighted_inputs(graph)
    assert WeightEnergies(graph, {}).importance("w") is None
    assert WeightEnergies(graph, {channels_of(found): np.zeros(4)}).importance("w") is None


def test_a_weight_that_is_read_as_data_too_has_none() -> None:
    made = model("MatMul")
    made.graph.node.append(helper.make_node("Add", ["w", "w"], ["z"], "other"))
    graph = Graph(made)
    (found,) = weighted_inputs(graph)
    assert WeightEnergies(graph, {channels_of(found): np.ones(4)}).importance("w") is None
