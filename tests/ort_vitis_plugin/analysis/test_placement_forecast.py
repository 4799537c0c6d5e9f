"""A device says beforehand which nodes it will take, and why not the others."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest

from ort_vitis_plugin.analysis.placement_forecast import forecast, forecast_of
from ort_vitis_plugin.errors import UnsupportedError
from ort_vitis_plugin.testing import graph
from tests.ort_vitis_plugin.pipeline.test_node_placement import network


def test_a_forecast_needs_no_samples() -> None:
    reasons = {placed.node: placed.reason for placed in forecast(network())}
    assert reasons["conv"] is None
    assert reasons["exp"] is not None
    assert "no Exp" in reasons["exp"]


def test_a_forecast_of_a_dynamic_batch() -> None:
    model = network("n, 3, 6, 6")
    del model.graph.output[:]
    del model.graph.value_info[:]
    model.graph.output.extend(
        graph("t (float x) => (float[n, 4, 6, 6] y, float[n, 3, 6, 6] e) { y = Relu(x) }").graph.output
    )
    reasons = {placed.node: placed.reason for placed in forecast(model)}
    assert reasons["conv"] is not None
    assert "dynamic shape" in reasons["conv"]


def test_targets_without_a_forecast_say_so() -> None:
    with pytest.raises(UnsupportedError, match="ipu_cnn"):
        forecast(network(), "cpu")


def test_open_sizes_are_one_cause_with_its_remedy() -> None:
    found = forecast_of(graph("t (float[n, 4, 6, 6] x) => (float[n, 4, 6, 6] y) { y = Relu(x) }"))
    assert found.open_shapes == {"x": ["n", 4, 6, 6]}
    (cause,) = found.causes()
    assert cause.nodes == (found.placements[0].node,)
    fixed = forecast_of(graph("t (float[n, 4, 6, 6] x) => (float[n, 4, 6, 6] y) { y = Relu(x) }"), fix_shapes={"n": 1})
    assert fixed.causes() == []
