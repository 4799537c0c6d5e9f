"""Walking a network in pieces gives what running it whole gives, and runs each node once."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime as ort
import pytest

from ort_vitis_finetune.tensor_cache import TensorCache
from ort_vitis_finetune.walk import Walk
from ort_vitis_plugin.api import Graph
from ort_vitis_plugin.testing import graph as build
from ort_vitis_plugin.testing import random_feeds, run_model

if TYPE_CHECKING:
    from onnx import ModelProto

TWO_PATHS = """two (float[1, 4] x) => (float[1, 4] y) <float[1, 4] c = {1, 2, 3, 4}> {
    a = Relu(x)  b = Add(a, c)  d = Mul(b, a)  e = Sub(d, x)  f = Abs(e)  y = Add(f, d)
}"""


def opened(model: ModelProto) -> ort.InferenceSession:
    return ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def all_tensors(model: ModelProto, feed: dict[str, Any]) -> dict[str, Any]:
    watched = Graph(model).to_model()
    known = {value.name for value in watched.graph.output}
    for node in watched.graph.node:
        for name in node.output:
            if name not in known:
                watched.graph.output.add(name=name)
    return run_model(watched, feed)


@pytest.mark.parametrize("order", [["a", "b", "d", "e", "y"], ["e", "a"], ["y"], ["d", "x"]])
@pytest.mark.parametrize("limit", [0, 1 << 20])
def test_tensors_are_those_of_the_whole_network(order: list[str], limit: int) -> None:
    model = build(TWO_PATHS)
    feeds = [random_feeds(model, seed) for seed in range(3)]
    with TensorCache(limit) as cache:
        walk = Walk(Graph(model), feeds, opened, cache, order)
        for name in order:
            walk.reach(name)
            for sample, feed in enumerate(feeds):
                wanted = {**feed, **all_tensors(model, feed)}[name]
                np.testing.assert_array_equal(walk.value(name, sample), wanted)
            walk.release(name)
        assert (cache.spilled > 0) == (limit == 0)


@pytest.mark.parametrize("limit", [0, 100, 250, 1 << 20])
def test_arrays_in_memory_stay_within_the_limit(limit: int) -> None:
    arrays = [np.full(10, value, np.float32) for value in range(8)]  # 40 bytes each
    with TensorCache(limit) as cache:
        for at, array in enumerate(arrays):
            cache.append("ab"[at % 2], array)
        assert cache.spilled == max(8 - limit // 40, 0)
        assert all(np.array_equal(cache.get("ab"[at % 2], at // 2), array) for at, array in enumerate(arrays))
        cache.drop("a")
        cache.append("c", arrays[0])
        assert cache.spilled == max(8 - limit // 40, 0) + (limit == 0)


def test_each_node_is_in_one_piece_and_read_tensors_leave_the_cache() -> None:
    model, seen = build(TWO_PATHS), Counter[str]()

    def counting(piece: ModelProto) -> ort.InferenceSession:
        seen.update(node.op_type for node in piece.graph.node)
        return opened(piece)

    with TensorCache(1 << 20) as cache:
        walk = Walk(Graph(model), [random_feeds(model)], counting, cache, ["a", "b", "d", "e"])
        for name in ("a", "b", "d", "e"):
            walk.reach(name)
            walk.release(name)
        assert seen == Counter(Relu=1, Add=1, Mul=1, Sub=1)
        assert not any(name in cache for name in "xabde")


def test_what_no_wanted_tensor_needs_is_not_run() -> None:
    model = build(TWO_PATHS)
    with TensorCache(1 << 20) as cache:
        walk = Walk(Graph(model), [random_feeds(model)], opened, cache, ["a"])
        walk.reach("a")
        walk.release("a")
        assert not any(name in cache for name in "xabdefy")


def test_a_replaced_constant_counts_from_there_on() -> None:
    model = build(TWO_PATHS)
    feed = random_feeds(model)
    with TensorCache(1 << 20) as cache:
        walk = Walk(Graph(model), [feed], opened, cache, ["a", "b"])
        walk.reach("a")
        walk.replace("c", np.zeros((1, 4), np.float32))
        walk.reach("b")
        np.testing.assert_array_equal(walk.value("b", 0), np.maximum(feed["x"], 0))


def test_bodies_of_an_if_read_what_they_capture() -> None:
    model = build(
        """captured (float[4] x, bool[1] c) => (float[4] y) {
        a = Relu(x)
        b = If (c) <
            then_branch = t () => (float[4] p) { p = Neg(a) }, else_branch = e () => (float[4] q) { q = Abs(x) }
        >
        y = Add(b, a) }"""
    )
    feed = random_feeds(model)
    with TensorCache(1 << 20) as cache:
        walk = Walk(Graph(model), [feed], opened, cache, ["a", "y"])
        for name in ("a", "y"):
            walk.reach(name)
        np.testing.assert_array_equal(walk.value("y", 0), run_model(model, feed)["y"])
