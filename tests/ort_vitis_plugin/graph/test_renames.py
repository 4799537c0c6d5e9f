"""Names are followed in the order in which they changed."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.graph.renames import Renames
from ort_vitis_plugin.testing import graph, random_feeds, run_model

# (nodes renamed one after the other, a name, what it means now)
FOLLOWED: dict[str, tuple[list[tuple[str, ...]], str, tuple[str, ...]]] = {
    "nothing happened": ([], "a", ("a",)),
    "renamed": ([("a", "b")], "a", ("b",)),
    "renamed twice": ([("a", "b"), ("b", "c")], "a", ("c",)),
    "another took the name before": ([("b", "c"), ("a", "b")], "a", ("b",)),
    "parted": ([("a", "a", "a_1"), ("a", "a", "a_2")], "a", ("a", "a_2", "a_1")),
    "a branch in the place of its If": ([("a", "m", "n"), ("m", "m_1")], "a", ("m_1", "n")),
    "an empty branch": ([("a",)], "a", ()),
    "two became one": ([("a", "c"), ("b", "c")], "a", ("c",)),
}


@pytest.mark.parametrize(("log", "name", "now"), FOLLOWED.values(), ids=FOLLOWED)
def test_what_a_name_means(log: list[tuple[str, ...]], name: str, now: tuple[str, ...]) -> None:
    renames = Renames()
    for old, *new in log:
        renames.node(old, *new)
    assert renames.nodes_of([name]) == renames.ends_of([name]) == now
    assert renames.nodes_of([]) == ()


def test_tensors_and_nodes_are_told_apart_except_as_ends() -> None:
    renames = Renames()
    renames.tensor("a", "t")
    assert renames.nodes_of(["a"]) == ("a",)
    assert renames.ends_of(["a"]) == ("t",)


def test_each_name_once() -> None:
    renames = Renames()
    renames.node("a", "c")
    renames.node("b", "c", "d")
    assert renames.nodes_of(["a", "x", "b"]) == ("c", "x", "d")


def test_a_graph_writes_its_renames_down() -> None:
    model = graph("t (float[2] x) => (float[2] y) { [n] t = Relu(x) [m] y = Add(t, w) }", constants={"w": np.ones(2)})
    model.graph.initializer[0].CopyFrom(
        graph(
            "t (float[2] x) => (float[2] y) { y = Relu(x) }", constants={"w": np.ones(2, np.float32)}
        ).graph.initializer[0]
    )
    feeds = random_feeds(model)
    before = run_model(model, feeds)["y"]
    edited = Graph(model)
    edited.rename_node(next(edited.of_type("Relu")), "k")
    edited.rename_tensor("t", "u")
    edited.rename_tensor("w", "v")
    assert edited.renames.nodes_of(["n", "m"]) == ("k", "m")
    assert edited.renames.ends_of(["t", "w"]) == ("u", "v")
    assert edited.producer("t") is None
    assert edited.unique("k") == "k_1"
    np.testing.assert_array_equal(run_model(edited.to_model(), feeds)["y"], before)
    edited.reload(edited.to_model())
    assert edited.renames.nodes_of(["n"]) == ("k",)


def test_a_shared_name_stands_for_both() -> None:
    edited = Graph(graph("t (float[2] x) => (float[2] y) { [n] t = Relu(x) [n] y = Abs(t) }"))
    edited.rename_node(next(edited.of_type("Abs")), "n_1", shared=True)
    assert edited.renames.nodes_of(["n"]) == ("n", "n_1")
