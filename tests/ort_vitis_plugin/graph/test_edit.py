"""Edits leave no constant behind that nobody reads."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np

from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.graph.edit import become, clip_bounds, constant, discard, integers, scalar, store, with_outputs
from ort_vitis_plugin.testing import graph

TEXT = """t (float[2] x) => (float[2] y) {
  c = Constant<value = float {3.0}>() i = Identity(c) h = Mul(x, i) y = Add(h, w) }"""


def whole() -> Graph:
    return Graph(graph(TEXT, 17, {"w": np.array([1, 2], np.float32)}))


def test_constants_are_seen_through_identities() -> None:
    assert scalar(whole(), "i") == 3.0
    assert scalar(whole(), "w") is None
    np.testing.assert_array_equal(constant(whole(), "w"), [1, 2])
    assert constant(whole(), "x") is None


def test_another_node_keeps_name_and_outputs_and_drops_constants() -> None:
    graph_ = whole()
    node = graph_.producer("h")
    assert node is not None
    become(graph_, node, "LeakyRelu", ["x"], alpha=0.5)
    assert [each.op_type for each in graph_.sorted()] == ["LeakyRelu", "Add"]
    assert list(node.output) == ["h"]


def test_discarded_nodes_take_their_constants_along() -> None:
    graph_ = whole()
    node = graph_.producer("h")
    assert node is not None
    discard(graph_, [node])
    assert [each.op_type for each in graph_] == ["Add"]


def test_a_constant_of_one_reader_is_replaced_under_its_name() -> None:
    graph_ = whole()
    node = graph_.producer("y")
    assert node is not None
    store(graph_, node, 1, np.array([5, 6], np.float32))
    assert list(node.input) == ["h", "w"]
    np.testing.assert_array_equal(graph_.array("w"), [5, 6])


def test_lists_are_attributes_or_inputs() -> None:
    old = Graph(graph("t (float[1,2] x) => (float[2] y) { y = Squeeze<axes = [0]>(x) }", 11))
    new = Graph(graph("t (float[1,2] x) => (float[2] y) { y = Squeeze(x, a) }", 17, {"a": np.array([0])}))
    for graph_ in (old, new):
        assert integers(graph_, next(iter(graph_)), "axes", 1) == [0]


def test_bounds_of_a_clip() -> None:
    graph_ = Graph(graph("t (float[2] x, float h) => (float[2] y) { y = Clip(x, l, h) }", 17, {"l": np.float32(-1)}))
    assert clip_bounds(graph_, next(iter(graph_))) == (-1.0, None)
    bare = Graph(graph("t (float[2] x) => (float[2] y) { y = Clip(x) }"))
    assert clip_bounds(bare, next(iter(bare))) == (-np.inf, np.inf)


def test_other_tensors_become_outputs_of_a_copy() -> None:
    model = graph(TEXT, 17, {"w": np.array([1, 2], np.float32)})
    more = with_outputs(model, ["y", "h"])
    assert [value.name for value in more.graph.output] == ["y", "h"]
    assert [value.name for value in model.graph.output] == ["y"]
    assert with_outputs(model, ["y"]) is model
