"""What is worth a trial: the nodes at which a rule clips, and the simulated nodes that take the outputs off."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from ort_vitis_plugin.testing import graph
from ort_vitis_plugin.trials.bench import Bench, split_of
from ort_vitis_plugin.trials.candidates import corrections, is_plain, rules, simulated_shares

pytestmark = pytest.mark.filterwarnings("ignore::ort_vitis_plugin.errors.AccuracyWarning")
NPU: dict[str, Any] = {"extra_options": {"Preset": "ipu_cnn"}}
# A HardSigmoid has seven fractional bits at least, and so has what it is joined with: boxes beyond 1 clip.
JOINED = """t (float[1, 3, 8, 8] x) => (float[1, 7, 8, 8] y) {
  [c0] a = Conv<pads = [1, 1, 1, 1]>(x, w0, b0)  [s0] sa = Sigmoid(a)  [m0] r = Mul(a, sa)
  [c1] boxes = Conv(r, w1, b1)  [c2] t = Conv(r, w2, b2)  [sg] scores = Sigmoid(t)
  [c] y = Concat<axis = 1>(boxes, scores) }"""


@cache
def bench() -> Bench:
    rng = np.random.default_rng(0)
    floats = {
        "w0": rng.normal(0, 0.3, (6, 3, 3, 3)),
        "b0": rng.normal(0, 0.1, 6),
        "w1": rng.normal(0, 0.4, (4, 6, 1, 1)),
        "b1": np.zeros(4),
        "w2": rng.normal(0, 0.3, (3, 6, 1, 1)),
        "b2": np.full(3, -1.0),
    }
    model = graph(JOINED, constants={name: each.astype(np.float32) for name, each in floats.items()})
    feeds = [{"x": rng.standard_normal((1, 3, 8, 8)).astype(np.float32)} for _ in range(8)]
    return Bench(model, split_of(feeds, model), "sqnr")


def test_where_a_rule_clips_its_node_is_left_float() -> None:
    (found,) = rules(bench(), NPU)
    assert found.change == {"nodes_to_exclude": ["c"]}
    assert found.what == "c float, clipped by AlignConcat"
    first = bench().tried("first", NPU)
    row = bench().tried(found.what, {**NPU, **found.change}, first)
    assert row.gain is not None
    assert row.gain > 3
    assert row.on_device == first.on_device - 1


def test_simulated_nodes_are_left_float_as_many_as_may_be() -> None:
    assert [each.change for each in simulated_shares(bench(), NPU, 0)] == []
    (found,) = simulated_shares(bench(), NPU, 1)
    row = bench().tried(found.what, {**NPU, **found.change}, bench().tried("first", NPU))
    others = [bench().tried(name, {**NPU, "nodes_to_exclude": [name]}) for name in ("s0", "sg")]
    assert found.change["nodes_to_exclude"] in (["s0"], ["sg"])
    assert row.score == max(each.score or 0.0 for each in others)


def test_the_recipe_is_a_correction_of_the_method_alone() -> None:
    plain = {"extra_options": {**NPU["extra_options"], "Recipe": "plain"}}
    assert is_plain(plain)
    assert not is_plain(NPU)
    assert "with the recipe" in [each.what for each in corrections(bench(), plain)]
    assert "with the recipe" not in [each.what for each in corrections(bench(), NPU)]
