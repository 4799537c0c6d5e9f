"""Each float operator between pairs has one operator on codes, or a reason why not."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import NodeProto, TensorProto, helper

from ort_vitis_plugin.convert.qlinear_ops import WRITERS
from ort_vitis_plugin.convert.qlinear_site import Codes, Site, Written
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import graph
from tests.ort_vitis_plugin.convert.test_qlinear_site import codes


def written(node: NodeProto, inputs: list[Codes | None], y: Codes | None, opset: int = 17) -> Written | str:
    text = "t (float[2, 3] x) => (float[2, 3] y) { y = Relu(x) }"
    constants = {"w": np.zeros((3, 3), np.float32), "v": np.array(0.5, np.float32)}
    return WRITERS[node.op_type](Site(Graph(graph(text, opset, constants)), node, inputs, [y]))


def node(op_type: str, *inputs: str, **attributes: Any) -> NodeProto:
    return helper.make_node(op_type, inputs, ["y"], op_type, **attributes)


X, Y, SAME = codes("x", scale=0.5), codes("y", scale=0.25), codes("y", scale=0.5)
KERNELS = {
    "MatMul": (node("MatMul", "x", "w"), [X, codes("w")], Y, "QLinearMatMul", 8),
    "Add": (node("Add", "x", "x"), [X, X], Y, "QLinearAdd", 8),
    "Sigmoid": (node("Sigmoid", "x"), [X], Y, "QLinearSigmoid", 5),
    "Concat": (node("Concat", "x", "x", axis=0), [X, X], Y, "QLinearConcat", 8),
    "Concat of one": (node("Concat", "x", axis=0), [X], SAME, "Concat", 1),
    "Where": (node("Where", "c", "x", "x"), [None, X, X], Y, "QLinearWhere", 9),
    "Transpose": (node("Transpose", "x"), [X], SAME, "Transpose", 1),
    "ArgMax": (node("ArgMax", "x"), [X], None, "ArgMax", 1),
    "Pad": (node("Pad", "x", "p", "v"), [X, None, None], SAME, "Pad", 3),
}


@pytest.mark.parametrize(("float_node", "inputs", "y", "op_type", "count"), KERNELS.values(), ids=KERNELS)
def test_kernels(float_node: NodeProto, inputs: list[Any], y: Any, op_type: str, count: int) -> None:
    found = written(float_node, inputs, y)
    assert isinstance(found, Written)
    assert (found.op_type, len(found.inputs)) == (op_type, count)


REASONS = {
    "another scale": (node("Transpose", "x"), [X], Y, 17, "another scale than the input"),
    "dilations": (node("AveragePool", "x", dilations=[2, 2]), [X], Y, 17, "knows no dilations"),
    "interpolation": (node("Resize", "x", mode="linear"), [X], SAME, 17, "would be cut off, not rounded"),
    "an old pool": (node("MaxPool", "x"), [X], SAME, 11, "from opset 12 on"),
    "an old pad": (node("Pad", "x"), [X], SAME, 10, "from opset 11 on"),
    "codes of 1 that wrap": (
        node("Softmax", "x"),
        [codes("x", TensorProto.INT8)],
        codes("y", TensorProto.INT8, 1 / 256, -128),
        17,
        "would wrap around",
    ),
}


@pytest.mark.parametrize(("float_node", "inputs", "y", "opset", "text"), REASONS.values(), ids=REASONS)
def test_reasons(float_node: NodeProto, inputs: list[Any], y: Any, opset: int, text: str) -> None:
    found = written(float_node, inputs, y, opset)
    assert isinstance(found, str)
    assert text in found


def test_a_pad_value_becomes_its_code() -> None:
    float_node = node("Pad", "x", "p", "v")
    edited = Graph(graph("t (float[2] x) => (float[2] y) { y = Relu(x) }", constants={"v": np.array(1.5, np.float32)}))
    found = WRITERS["Pad"](Site(edited, float_node, [X, None, None], [SAME]))
    assert isinstance(found, Written)
    value = edited.array(found.inputs[2])
    assert value is not None
    assert (value.dtype, int(value)) == (np.int64, 3)


@pytest.mark.parametrize("value", ["x", "dequantized"])
def test_a_pad_value_that_is_computed_is_quantized_as_what_it_pads(value: str) -> None:
    edited = Graph(graph("t (float[2] x) => (float[2] y) { y = Relu(x) }"))
    behind = codes("v", scale=0.125) if value == "dequantized" else None
    found = WRITERS["Pad"](Site(edited, node("Pad", "x", "p", value), [X, None, behind], [SAME]))
    assert isinstance(found, Written)
    made = edited.producer(found.inputs[2])
    assert made is not None
    assert (made.op_type, list(made.input)) == ("QuantizeLinear", [value, X.scale_name, X.zero_name])


def test_a_pad_value_beyond_the_input_stays_float() -> None:
    found = written(node("Pad", "x", "p", "x"), [X, None, None], Y)
    assert isinstance(found, str)
    assert "another scale" in found
