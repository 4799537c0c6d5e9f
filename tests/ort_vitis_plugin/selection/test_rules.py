"""A rule leaves float what it selects, unless the caller asked for that node; tensors get no pair."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from onnx import NodeProto

from ort_vitis_plugin.api import LeaveFloat, Stage, StaysFloat
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.selection.rules import apply_leave_float
from ort_vitis_plugin.testing import graph, plain_context

TEXT = "t (float[2] x) => (float[2] y) { [a] h = Relu(x) [b] y = Relu(h) }"


def rule(found: StaysFloat) -> LeaveFloat:
    return LeaveFloat("Mine", "A rule.", Stage.PREPARE, lambda graph, context: found)


def node(graph_: Graph, name: str) -> NodeProto:
    return next(each for each in graph_ if each.name == name)


def test_nodes_and_tensors_with_their_reasons() -> None:
    call, whole = plain_context(), Graph(graph(TEXT))
    assert apply_leave_float(call, whole, rule(StaysFloat({"a": "it is mine"}, {"h": "so is this"}))) == 2
    assert call.refusal(node(whole, "a")) == "it is mine"
    assert call.refusal(node(whole, "b")) is None
    assert call.ledger.float_tensors == {"h": "so is this"}
    assert call.report.transforms == {"Mine": 2}


def test_a_node_that_the_caller_names_stays_selected() -> None:
    call, whole = plain_context(nodes_to_quantize=("a",)), Graph(graph(TEXT))
    assert apply_leave_float(call, whole, rule(StaysFloat({"a": "it is mine"}))) == 0
    assert call.refusal(node(whole, "a")) is None
    assert call.report.transforms == {}


def test_the_first_reason_of_a_tensor_stays() -> None:
    call, whole = plain_context(), Graph(graph(TEXT))
    apply_leave_float(call, whole, rule(StaysFloat(tensors={"h": "first"})))
    assert apply_leave_float(call, whole, rule(StaysFloat(tensors={"h": "second"}))) == 0
    assert call.ledger.float_tensors == {"h": "first"}
