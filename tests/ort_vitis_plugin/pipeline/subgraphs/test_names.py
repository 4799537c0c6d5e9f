"""Bodies get names that no other graph has, and constants that can be planned."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from onnx import ModelProto, TensorProto

from ort_vitis_plugin.graph import Graph, inner_nodes, subgraphs
from ort_vitis_plugin.pipeline.subgraphs.names import element_types, unique_names
from ort_vitis_plugin.testing import graph, plain_context

TEXT = """t (float[2] x, bool c) => (float[2] y) { [n] h = Relu(x)
    [if] y = If(c) <then_branch = g () => (float[2] z) { [n] k = Constant<value = float {2.0}>()  [m] z = Mul(h, k) },
                    else_branch = e () => (float[2] z) { [n] z = Neg(h) }> }"""


def named() -> Graph:
    edited = Graph(graph(TEXT))
    unique_names(plain_context(EnableSubgraph=True), edited)
    return edited


def model_of(edited: Graph) -> ModelProto:
    return edited.to_model()


def test_no_name_is_there_twice() -> None:
    inner = list(inner_nodes(named()))
    names = [node.name for node in (*named(), *inner)]
    made = [name for node in (*named(), *inner) for name in node.output]
    assert len(names) == len(set(names))
    assert len(made) == len(set(made))


def test_constants_become_initializers() -> None:
    then_branch, _ = (body for node in named() for body in subgraphs(node))
    assert [tensor.name for tensor in then_branch.initializer] == ["k"]
    assert [node.op_type for node in then_branch.node] == ["Mul"]


def test_the_model_computes_what_it_did() -> None:
    from ort_vitis_plugin.testing import assert_same_outputs, random_feeds, run_model

    feeds = random_feeds(graph(TEXT))
    assert_same_outputs(run_model(graph(TEXT), feeds), run_model(model_of(named()), feeds))


def test_without_the_option_nothing_changes() -> None:
    edited = Graph(graph(TEXT))
    before = edited.to_model().SerializeToString(deterministic=True)
    unique_names(plain_context(), edited)
    assert edited.to_model().SerializeToString(deterministic=True) == before


def test_types_of_what_a_body_sees() -> None:
    then_branch, _ = (body for node in named() for body in subgraphs(node))
    found = element_types(then_branch, {"h": TensorProto.FLOAT16})
    assert (found["h"], found["k"]) == (TensorProto.FLOAT16, 0)
