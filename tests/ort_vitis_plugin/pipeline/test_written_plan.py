"""A plan can be written again and again: neither it nor its report changes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ort_vitis_plugin import api
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.pipeline.written_plan import carry_over, ruled, written
from ort_vitis_plugin.testing import graph, random_feeds

if TYPE_CHECKING:
    from onnx import ModelProto

    from ort_vitis_plugin.api import Settings
    from ort_vitis_plugin.calibration.statistics import Statistics

MODEL = graph(
    "t (float[1, 4] x) => (float[1, 3] y) { h = Gemm(x, w)  y = Relu(h) }",
    constants={"w": np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)},
)


def _observed() -> tuple[ModelProto, Statistics, Settings]:
    prepared, settings = api.prepare(MODEL, api.settings_for(enable_dpu=True))
    return prepared, api.observe(prepared, [random_feeds(MODEL)], settings), settings


def test_what_a_graph_knows_goes_over() -> None:
    old, new = Graph(MODEL), Graph(MODEL)
    old.device_output["a"], old.simulated_node["n"] = "b", next(iter(old))
    old.device_nodes.add("n")
    old.kept = {"x"}
    assert carry_over(old, new) is new
    assert (new.device_output, new.device_nodes, new.kept) == ({"a": "b"}, {"n"}, {"x"})
    assert new.renames is old.renames


def test_a_plan_is_not_used_up() -> None:
    planned = api.plan(*_observed())
    positions, notes = planned.plan.current(), list(planned.call.report.notes)
    first, second = (written(planned.plan, planned.call).SerializeToString(deterministic=True) for _ in range(2))
    assert first == second
    assert (planned.plan.current(), planned.call.report.notes) == (positions, notes)
    assert api.emit(api.solve(planned)).graph.node


def test_a_copy_keeps_the_rules_and_tells_their_bounds() -> None:
    planned = api.plan(*_observed())
    before = planned.plan.current()
    within, bounds = ruled(planned.plan, planned.call)
    assert planned.plan.current() == before
    assert bounds
    assert not any(bound.excess(within.current()) for bound in bounds)
