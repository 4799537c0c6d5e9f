"""Of the nodes that a device computes otherwise, those are found that take the outputs off."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from ort_vitis_plugin.entry.quantize_static import prepared, simulated
from ort_vitis_plugin.measure import simulated_nodes as module
from ort_vitis_plugin.measure.simulated_nodes import restored_first, simulated_nodes, switched
from ort_vitis_plugin.onnx_io.sessions import open_session
from ort_vitis_plugin.testing import graph

# The first and the third squash what is large, the second hardly anything; the mean is computed otherwise too.
TEXT = """t (float[1, 4, 6, 6] x) => (float[1, 4, 1, 1] y) {
  [big] a = Sigmoid(x)  [s] b = Mul(a, small)  [tiny] c = Sigmoid(b)  [m] d = Mul(x, large)  [far] e = Sigmoid(d)
  [j] f = Sum(a, c, e)  [mean] y = GlobalAveragePool(f) }"""
NPU: dict[str, Any] = {"extra_options": {"Preset": "ipu_cnn"}}


@cache
def both() -> tuple[ModelProto, ModelProto]:
    constants = {"small": np.array(0.01, np.float32), "large": np.array(2.0, np.float32)}
    network = graph(TEXT, constants=constants)
    return prepared(network, **NPU), simulated(network, **NPU)


def feeds() -> list[dict[str, Any]]:
    rng = np.random.default_rng(3)
    return [{"x": rng.standard_normal((1, 4, 6, 6)).astype(np.float32)} for _ in range(2)]


def test_those_that_differ_are_named_in_order() -> None:
    assert [name for name in simulated_nodes(*both()) if name != "mean"] == ["big", "tiny", "far"]


def test_all_switches_off_is_float_and_all_on_is_the_device() -> None:
    names = simulated_nodes(*both())
    model, switches = switched(*both(), names)
    session = open_session(model)
    for at, original in enumerate(both()):
        (wanted,) = open_session(original).run(None, feeds()[0])
        (found,) = session.run(None, {**feeds()[0], switches: np.full(len(names), bool(at))})
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_the_node_whose_error_adds_most_comes_first() -> None:
    names = simulated_nodes(*both())
    order = restored_first(*both(), feeds())
    assert sorted(order) == sorted(names)
    model, switches = switched(*both(), names)
    session = open_session(model)

    def error(*restored: str) -> float:
        on = np.array([name not in restored for name in names])
        parts = [
            session.run(None, {**feed, switches: on})[0] - session.run(None, {**feed, switches: on & False})[0]
            for feed in feeds()
        ]
        return float(np.sum(np.square(parts)))

    assert error(order[0]) == min(error(name) for name in names)


def test_a_network_that_simulates_nothing_has_none() -> None:
    assert restored_first(both()[0], both()[0], feeds()) == []


def test_of_many_nodes_neighbours_are_run_together(monkeypatch: pytest.MonkeyPatch) -> None:
    names = simulated_nodes(*both())
    monkeypatch.setattr(module, "MOST_RUNS", 2)
    order = restored_first(*both(), feeds())
    assert order in (names, names[2:] + names[:2])
    assert len(names) == 4
