"""Candidates are changes of the best configuration; what cannot act is not tried."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
from onnx import ModelProto

from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.request.change import OPTIONS
from ort_vitis_plugin.testing import graph, random_feeds
from ort_vitis_plugin.trials.bench import Bench, split_of
from ort_vitis_plugin.trials.candidates import (
    _stretches,
    halves,
    is_refused,
    products,
    ranges,
    single_op_types,
)

BEST = {OPTIONS: {"Target": "cpu"}}


def model() -> ModelProto:
    text = """t (float[1, 2, 4] x) => (float[1, 2, 4] y) {
        [a] h = MatMul(x, w)  [b] i = Sigmoid(h)  [c] j = MatMul(i, w)  [d] y = Add(j, x) }"""
    return graph(text, constants={"w": np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32)})


def bench() -> Bench:
    return Bench(model(), split_of([random_feeds(model(), seed) for seed in range(2)], model()), "sqnr")


def test_op_types_alone_and_without() -> None:
    table = bench()
    assert [each.change for each in products(table, BEST)] == [{"op_types_to_quantize": ["MatMul"]}]
    found = [each.change["nodes_to_exclude"] for each in single_op_types(table, BEST)]
    assert found == [["op:Add"], ["op:Sigmoid"], ["op:MatMul"]]


def test_ranges_are_those_that_are_not_in_use() -> None:
    found = {each.what for each in ranges(bench(), BEST)}
    assert "weights by channel" in found
    assert {"activations QInt16", "method CalibrationMethod.Percentile"} <= found
    assert len({what for what in found if what.startswith("activations")}) == 2


def test_a_stretch_is_cut_in_two() -> None:
    assert [each.change["nodes_to_exclude"] for each in halves("abcde")] == [["a", "b"], ["c", "d", "e"]]
    assert [each.change["nodes_to_exclude"] for each in halves("a")] == [["a"]]


def test_stretches_lie_between_cut_points_in_order() -> None:
    found = _stretches(Graph(model()), {"a", "b", "c", "d"})
    assert [name for piece in found for name in piece] == ["a", "b", "c", "d"]
    assert all(found)


def test_what_would_be_refused_is_known_before_work() -> None:
    npu = {OPTIONS: {"Target": "ipu_cnn"}}
    assert is_refused(npu, {"per_channel": True})
    assert not is_refused(BEST, {"per_channel": True})
