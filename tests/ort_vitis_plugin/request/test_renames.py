"""The caller's names: renamed, doubled, folded away or inside a branch, they mean what bore them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, numpy_helper

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.errors import OptionError, UnknownNameError
from ort_vitis_plugin.report.report import Result
from ort_vitis_plugin.testing import graph, random_feeds

W = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)


def model(body: str) -> ModelProto:
    return graph(f"t (float[2, 4] x) => (float[2, 4] y) {{ {body} }}", constants={"w": W, "yes": np.array(True)})


def quantized(body: str, **request: Any) -> Result:
    return quantize_static(model(body), None, [random_feeds(model(body))], **request)


def chosen(result: Result) -> int:
    """How many MatMuls are quantized."""
    return sum(op_type == "MatMul" for op_type in result.report.quantized.values())


CLASH = "[r] x_q = Relu(x) [x_q_QuantizeLinear] t = MatMul(x_q, w) [n] y = MatMul(t, w)"
TWINS = "[m] t = MatMul(x, w) [m] u = MatMul(t, w) [n] y = MatMul(u, w)"
BRANCH = "[b] y = If(yes) <then_branch = g () => (float[2, 4] z) { [m] t = MatMul(x, w) [n] z = MatMul(t, w) }, "
BRANCH += "else_branch = h () => (float[2, 4] v) { [m] v = Identity(x) }>"

# (graph, nodes, MatMuls quantized when these are excluded, when only these are quantized)
SELECTED: dict[str, tuple[str, list[str], int, int]] = {
    "a node whose name the quantized model needs": (CLASH, ["x_q_QuantizeLinear"], 1, 1),
    "nodes of one name, all of them": (TWINS, ["m"], 1, 2),
    "a node of a branch that is always taken": (BRANCH, ["m"], 1, 1),
    "the If around it": (BRANCH, ["b"], 0, 2),
    "an Identity beside a MatMul": ("[i] t = Identity(x) [m] y = MatMul(t, w)", ["i", "m"], 0, 1),
    "a node that is folded": ("[c] k = Relu(w) [m] y = MatMul(x, k)", ["c"], 1, 0),
}


@pytest.mark.parametrize(("body", "nodes", "excluded", "alone"), SELECTED.values(), ids=SELECTED)
def test_selected_nodes(body: str, nodes: list[str], excluded: int, alone: int) -> None:
    assert chosen(quantized(body, nodes_to_exclude=nodes)) == excluded
    assert chosen(quantized(body, nodes_to_quantize=nodes)) == alone


# (graph, what the request names, MatMuls quantized)
ENDS: dict[str, tuple[str, dict[str, Any], int]] = {
    "start at a renamed node": (CLASH, {"input_nodes": ["x_q_QuantizeLinear"]}, 2),
    "end at a renamed node": (CLASH, {"output_nodes": ["x_q_QuantizeLinear"]}, 1),
    "end at a renamed tensor": ("x_scale = MatMul(x, w) y = MatMul(x_scale, w)", {"output_nodes": ["x_scale"]}, 1),
    "start at an Identity": ("t = MatMul(x, w) [i] u = Identity(t) y = MatMul(u, w)", {"input_nodes": ["i"]}, 1),
    "end at its tensor": ("t = MatMul(x, w) u = Identity(t) y = MatMul(u, w)", {"output_nodes": ["u"]}, 1),
}


@pytest.mark.parametrize(("body", "ends", "count"), ENDS.values(), ids=ENDS)
def test_ends(body: str, ends: dict[str, Any], count: int) -> None:
    assert chosen(quantized(body, **ends)) == count


# (graph, the tensor that an override names)
OVERRIDDEN: dict[str, tuple[str, str]] = {
    "a tensor whose name the quantized model needs": (
        "t = Relu(x) x_scale = Add(t, t) y = MatMul(x_scale, w)",
        "x_scale",
    ),
    "the output of an Identity": ("t = Relu(x) z = Add(t, t) u = Identity(z) y = MatMul(u, w)", "u"),
    "the input of an Identity at the end": ("t = MatMul(x, w) y = Identity(t)", "t"),
    "the factor of a Gemm": ("y = Gemm<alpha = 0.5>(x, w)", "w"),
    "a constant that is computed": ("k = Neg(w) y = MatMul(x, k)", "k"),
}


@pytest.mark.parametrize(("body", "tensor"), OVERRIDDEN.values(), ids=OVERRIDDEN)
def test_overridden_tensors(body: str, tensor: str) -> None:
    entry = {"scale": np.float32(0.375), "zero_point": np.int8(3)}
    given = {"TensorQuantOverrides": {tensor: [entry]}}
    result = quantized(body, extra_options=given)
    scales = [numpy_helper.to_array(constant) for constant in result.model.graph.initializer]
    assert sum(scale.dtype == np.float32 and scale.size == 1 and scale.item() == 0.375 for scale in scales) == 1
    assert given == {"TensorQuantOverrides": {tensor: [entry]}}


def test_overrides_reach_both_branches_of_an_if() -> None:
    branch = "(float[2, 4] z) {{ t = Add(x, x) z = MatMul(t, {}) }}"
    body = f"c = ReduceSum<keepdims = 0>(x) o = Cast<to = 9>(c) k = Neg(w) y = If(o) <then_branch = g () => {branch}, "
    body = (body + f"else_branch = h () => {branch}>").format("w", "k")
    feeds = [{"x": np.ones((2, 4), np.float32)}, {"x": np.zeros((2, 4), np.float32)}]
    options = {"EnableSubgraph": True, "TensorQuantOverrides": {"t": [{"scale": np.float32(0.375)}]}}
    options["TensorQuantOverrides"]["t"][0]["zero_point"] = np.int8(3)  # type: ignore[index]
    result = quantize_static(model(body), None, feeds, extra_options=options)
    branches = [attribute.g for node in result.model.graph.node if node.op_type == "If" for attribute in node.attribute]
    constants = [[numpy_helper.to_array(tensor) for tensor in each.initializer] for each in branches]
    assert [sum(a.size == 1 and a.item() == np.float32(0.375) for a in each) for each in constants] == [1, 1]


@pytest.mark.parametrize("argument", ["nodes_to_exclude", "nodes_to_quantize", "input_nodes", "output_nodes"])
def test_names_of_nothing_are_refused(argument: str) -> None:
    with pytest.raises(UnknownNameError, match=f"{argument}: the model has no node .*'none'"):
        quantized(TWINS, **{argument: ["none"]})


def test_overrides_of_nothing_are_refused() -> None:
    with pytest.raises(OptionError, match="'none' in TensorQuantOverrides is not present"):
        quantized(TWINS, extra_options={"TensorQuantOverrides": {"none": [{"scale": np.float32(1)}]}})


def test_receivers_are_followed() -> None:
    """Of a tensor with two types: the reader that takes the second one, under its new name."""
    from onnxruntime.quantization import QuantType

    body = (
        "[r] x_q = Relu(x) t = Add(x_q, x_q) [x_q_QuantizeLinear] a = MatMul(t, w) [n] b = MatMul(t, w) y = Add(a, b)"
    )
    convert = {"quant_type": QuantType.QInt16, "recv_nodes": {"x_q_QuantizeLinear"}}
    given = {"TensorQuantOverrides": {"t": [{"quant_type": QuantType.QInt8, "convert": convert}]}}
    result = quantized(body, extra_options=given)
    assert result.report.types["t"] == "QInt8"
    assert convert["recv_nodes"] == {"x_q_QuantizeLinear"}
