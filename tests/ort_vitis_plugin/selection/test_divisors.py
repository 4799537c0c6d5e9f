"""A tensor is a divisor where a zero in it makes an infinity, as it is or moved."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_plugin.calibration.statistics import Statistics
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.selection.divisors import is_divisor, keep_divisors
from ort_vitis_plugin.sketch import Sketch
from ort_vitis_plugin.testing import graph, plan


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y = Div(z, x)", True),
        ("y = Div(x, z)", False),
        ("y = Log(x)", True),
        ("y = Reciprocal(x)", True),
        ("h = Sqrt(x) y = Div(z, h)", True),
        ("h = Transpose(x) y = Div(z, h)", True),
        ("h = Exp(x) y = Div(z, h)", False),
        ("y = Add(x, z)", False),
    ],
)
def test_is_divisor(body: str, expected: bool) -> None:
    assert is_divisor(Graph(graph(f"t (float[2] x, float[2] z) => (float[2] y) {{ {body} }}")), "x") is expected


@pytest.mark.parametrize(("least", "stays"), [(0.01, False), (0.4, True)])
def test_a_divisor_that_would_vanish_leaves_the_plan(least: float, stays: bool) -> None:
    """At a step of 1/2 what lies below 1/4 rounds to zero."""
    model = graph("t (float[2] x, float[2] z) => (float[2] y) { y = Div(z, x) }")
    planned, notes = plan(model, {"x": 1, "z": 1, "y": 1}), []
    sketch = Sketch()
    sketch.add(np.array([least, 50], np.float32))
    keep_divisors(planned, Statistics({"x": sketch}), notes.append)
    assert ("x" in planned) is stays
    assert len(notes) == (not stays)
    assert ("x" in planned.changes) is not stays
