"""Dequantized constants become numbers on a grid; the network computes what it computed."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnxruntime import GraphOptimizationLevel

from ort_vitis_finetune import simulation_of
from ort_vitis_plugin.testing import random_feeds, run_model

KINDS = {
    "int4": (TensorProto.INT4, -8, 7),
    "uint4": (TensorProto.UINT4, 0, 15),
    "int8": (TensorProto.INT8, -128, 127),
    "uint8": (TensorProto.UINT8, 0, 255),
    "int16": (TensorProto.INT16, -32768, 32767),
}


def dequantized(kind: int, low: int, high: int, *, axis: int | None = None, block: int = 0) -> ModelProto:
    """x times a constant of codes [8, 6]."""
    draw = np.random.default_rng(0)
    shape: tuple[int, ...] = () if axis is None else ((8, 6)[axis],)
    if block:
        shape = (8 // block, 6) if axis == 0 else (8, 6 // block)
    scale = np.exp2(draw.integers(-4, 0, shape)).astype(np.float32)
    attributes = {} if axis is None else {"axis": axis, **({"block_size": block} if block else {})}

    def codes(name: str, values: Any) -> TensorProto:
        return helper.make_tensor(name, kind, np.shape(values), np.ravel(values))

    graph = helper.make_graph(
        [
            helper.make_node("DequantizeLinear", ["c", "s", "z"], ["w"], "dequantize", **attributes),
            helper.make_node("MatMul", ["x", "w"], ["y"], "matmul"),
        ],
        "one",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 6])],
        [
            codes("c", draw.integers(low, high + 1, (8, 6))),
            numpy_helper.from_array(scale, "s"),
            codes("z", draw.integers(low, high + 1, shape)),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("axis", "block"), [(None, 0), (0, 0), (1, 0), (0, 4)])
def test_values_and_limits_are_those_of_the_codes(kind: str, axis: int | None, block: int) -> None:
    model = dequantized(*KINDS[kind], axis=axis, block=block)
    before = model.SerializeToString()
    found = simulation_of(model)
    assert model.SerializeToString() == before
    assert [node.op_type for node in found.model.graph.node] == ["MatMul"]
    grid = found.grids["w"]
    assert (grid.low, grid.high, grid.block) == (*KINDS[kind][1:], block)
    w = numpy_helper.to_array(found.model.graph.initializer[0])
    np.testing.assert_array_equal(grid.rounded(w), w)
    feed = random_feeds(model)
    level = GraphOptimizationLevel.ORT_DISABLE_ALL
    np.testing.assert_array_equal(run_model(found.model, feed, level)["y"], run_model(model, feed, level)["y"])


def test_narrower_limits_may_be_given() -> None:
    found = simulation_of(dequantized(TensorProto.INT8, -8, 7), {"c": (-8, 7)})
    assert (found.grids["w"].low, found.grids["w"].high) == (-8, 7)


def test_pairs_of_data_stay() -> None:
    model = dequantized(TensorProto.INT8, -8, 7)
    model.graph.node[0].input[0] = "q"
    model.graph.node.insert(0, helper.make_node("QuantizeLinear", ["v", "s", "z"], ["q"], "quantize"))
    model.graph.input.append(helper.make_tensor_value_info("v", TensorProto.FLOAT, [8, 6]))
    found = simulation_of(model)
    assert not found.grids
    assert len(found.model.graph.node) == 3
