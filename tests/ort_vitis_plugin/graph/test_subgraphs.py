"""Bodies are walked to any depth, and a name inside is renamed unless a body makes it its own."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin.graph.subgraphs import all_nodes, body_names, captured_names, inner_nodes, rename_captured, walk
from ort_vitis_plugin.testing import graph

MODEL = """t (float[2] x, bool c) => (float[2] y) {
  [outer] y = If(c) <
    then_branch = g () => (float[2] a) { [inner] a = If(c) <
      then_branch = h () => (float[2] p) { [relu] p = Relu(x) },
      else_branch = i () => (float[2] q) { [own] x2 = Abs(x) [neg] q = Neg(x2) }> },
    else_branch = k () => (float[2] b) { [mine] b = Add(x, x) }> }"""


def test_all_depths() -> None:
    model = graph(MODEL)
    names = ["outer", "inner", "relu", "own", "neg", "mine"]
    assert [node.name for node in walk(model.graph.node)] == names
    assert [node.name for node in inner_nodes(model.graph.node)] == names[1:]
    assert [node.name for node in all_nodes(model)] == names


def test_what_bodies_read_and_define() -> None:
    outer = graph(MODEL).graph.node[0]
    assert captured_names(outer) == {"x", "c"}
    assert {"a", "p", "x2", "q", "b", "relu"} <= set(body_names(outer))


def test_captured_names_change_and_own_ones_stay() -> None:
    outer = graph(MODEL).graph.node[0]
    rename_captured(outer, {"x": "u", "x2": "wrong"})
    inside = {node.name: list(node.input) for node in inner_nodes([outer])}
    assert inside["relu"] == ["u"]
    assert inside["mine"] == ["u", "u"]
    assert inside["neg"] == ["x2"]
