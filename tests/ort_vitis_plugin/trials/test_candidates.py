"""What is worth a trial: changes of the best that can act, nodes at which a rule clips, simulated nodes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.request.change import OPTIONS
from ort_vitis_plugin.testing import graph, random_feeds
from ort_vitis_plugin.trials.bench import Bench, split_of
from ort_vitis_plugin.trials.candidates import (
    _stretches,
    corrections,
    halves,
    is_plain,
    is_refused,
    products,
    raised_groups,
    ranges,
    rules,
    simulated_shares,
    single_op_types,
)

pytestmark = pytest.mark.filterwarnings("ignore::ort_vitis_plugin.errors.AccuracyWarning")
NPU: dict[str, Any] = {"extra_options": {"Preset": "ipu_cnn"}}
# A HardSigmoid has seven fractional bits at least, and so has what it is joined with: boxes beyond 1 clip.
JOINED = """t (float[1, 3, 8, 8] x) => (float[1, 7, 8, 8] y) {
  [c0] a = Conv<pads = [1, 1, 1, 1]>(x, w0, b0)  [s0] sa = Sigmoid(a)  [m0] r = Mul(a, sa)
  [c1] boxes = Conv(r, w1, b1)  [c2] t = Conv(r, w2, b2)  [sg] scores = Sigmoid(t)
  [c] y = Concat<axis = 1>(boxes, scores) }"""
BEST = {OPTIONS: {"Target": "cpu"}}


def model() -> ModelProto:
    text = """t (float[1, 2, 4] x) => (float[1, 2, 4] y) {
        [a] h = MatMul(x, w)  [b] i = Sigmoid(h)  [c] j = MatMul(i, w)  [d] y = Add(j, x) }"""
    return graph(text, constants={"w": np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32)})


def bench() -> Bench:
    return Bench(model(), split_of([random_feeds(model(), seed) for seed in range(2)], model()), "sqnr")


@cache
def joined(boxes: float = 0.4) -> Bench:
    rng = np.random.default_rng(0)
    floats = {
        "w0": rng.normal(0, 0.3, (6, 3, 3, 3)),
        "b0": rng.normal(0, 0.1, 6),
        "w1": rng.normal(0, boxes, (4, 6, 1, 1)),
        "b1": np.zeros(4),
        "w2": rng.normal(0, 0.3, (3, 6, 1, 1)),
        "b2": np.full(3, -1.0),
    }
    model = graph(JOINED, constants={name: each.astype(np.float32) for name, each in floats.items()})
    feeds = [{"x": rng.standard_normal((1, 3, 8, 8)).astype(np.float32)} for _ in range(8)]
    return Bench(model, split_of(feeds, model), "sqnr")


def test_op_types_alone_and_without() -> None:
    table = bench()
    assert [each.change for each in products(table, BEST)] == [{"op_types_to_quantize": ["MatMul"]}]
    found = [each.change["nodes_to_exclude"] for each in single_op_types(table, BEST)]
    assert found == [["op:Add"], ["op:Sigmoid"], ["op:MatMul"]]


def test_groups_are_raised_where_the_device_has_the_type() -> None:
    table = bench()
    found = {each.what: each.change[OPTIONS]["MixedTypes"] for each in raised_groups(table, BEST)}  # type: ignore[index, call-overload]
    wide = {"activation_type": "QInt16"}
    assert [*found][:3] == ["Add in QInt16", "Sigmoid in QInt16", "MatMul in QInt16"]
    assert found["Sigmoid in QInt16"] == {"op:Sigmoid": wide}
    assert all(set(types) <= set("abcd") for what, types in found.items() if " to " in what)
    raised = {OPTIONS: {**BEST[OPTIONS], "MixedTypes": found["Sigmoid in QInt16"]}}
    again = {each.what: each.change[OPTIONS]["MixedTypes"] for each in raised_groups(table, raised)}  # type: ignore[index, call-overload]
    assert "Sigmoid in QInt16" not in again
    assert again["Add in QInt16"] == {"op:Sigmoid": wide, "op:Add": wide}
    assert [*raised_groups(joined(), NPU)] == []
    everywhere = {OPTIONS: {**BEST[OPTIONS], "MixedTypes": dict.fromkeys(("op:MatMul", "op:Sigmoid", "op:Add"), wide)}}
    before, after = table.tried("not", BEST), table.tried("raised", everywhere)
    assert after.score > before.score  # type: ignore[operator]
    assert after.on_device == before.on_device


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


def test_where_a_rule_clips_its_node_is_left_float() -> None:
    table = joined(boxes=0.15)
    (found,) = rules(table, NPU)
    assert found.change == {"nodes_to_exclude": ["c"]}
    assert found.what == "c float, clipped by AlignConcat"
    first, last = NPU, {**NPU, **found.change}
    before, after = (
        {each.name: each.decibels for each in table.judge.judgements(table.quantized(asked).model)}
        for asked in (first, last)
    )
    boxes = next(name for name in before if "0:4" in name)
    assert after[boxes] > before[boxes] + 3
    assert table.tried("last", last).on_device == table.tried("first", first).on_device - 1


def test_where_a_rule_would_ruin_nothing_is_left_to_try() -> None:
    assert list(rules(joined(), NPU)) == []


def test_simulated_nodes_are_left_float_as_many_as_may_be() -> None:
    assert [each.change for each in simulated_shares(joined(), NPU, 0)] == []
    (found,) = simulated_shares(joined(), NPU, 1)
    row = joined().tried(found.what, {**NPU, **found.change}, joined().tried("first", NPU))
    others = [joined().tried(name, {**NPU, "nodes_to_exclude": [name]}) for name in ("s0", "sg")]
    assert found.change["nodes_to_exclude"] in (["s0"], ["sg"])
    assert row.score == max(each.score or 0.0 for each in others)


def test_the_recipe_is_a_correction_of_the_method_alone() -> None:
    plain = {"extra_options": {**NPU["extra_options"], "Recipe": "plain"}}
    assert is_plain(plain)
    assert not is_plain(NPU)
    assert "with the recipe" in [each.what for each in corrections(joined(), plain)]
    assert "with the recipe" not in [each.what for each in corrections(joined(), NPU)]
