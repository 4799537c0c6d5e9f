"""A tensor is a divisor where a zero in it makes an infinity, as it is or moved."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_plugin.calibration.statistics import Statistics
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.selection.divisors import ends_in_infinity, keep_divisors
from ort_vitis_plugin.sketch import Sketch
from ort_vitis_plugin.testing import graph, plan

ZERO, ONE = "zero", "one"


@pytest.mark.parametrize(
    ("body", "fatal"),
    [
        ("y = Div(z, x)", {ZERO}),
        ("y = Div(x, z)", set()),
        ("y = Log(x)", {ZERO}),
        ("y = Reciprocal(x)", {ZERO}),
        ("h = Sqrt(x) y = Div(z, h)", {ZERO}),
        ("h = Transpose(x) y = Div(z, h)", {ZERO}),
        ("h = Exp(x) y = Div(z, h)", set()),
        ("y = Add(x, z)", set()),
        ("o = Sub(one, x) y = Div(x, o)", {ONE}),
        ("o = Sub(one, x) d = Div(x, o) y = Log(d)", {ZERO, ONE}),
        ("n = Neg(x) o = Add(n, one) r = Reciprocal(o) y = Mul(r, x)", {ONE}),
        ("o = Sub(one, x) y = Pow(o, negative)", {ONE}),
        ("o = Sub(one, x) c = Clip(o, little, two) y = Log(c)", set()),
        ("o = Sub(one, x) c = Max(o, little) y = Log(c)", set()),
        ("c = Clip(x, little, two) o = Sub(one, c) q = Div(c, o) y = Log(q)", {ONE}),
        ("o = Sub(two, x) y = Log(o)", set()),
        ("h = Mul(x, two) o = Sub(two, h) y = Log(o)", {ONE}),
        ("h = Mul(x, z) y = Log(h)", {ZERO}),
    ],
)
def test_which_values_end_in_infinity(body: str, fatal: set[str]) -> None:
    constants = {"one": 1.0, "two": 2.0, "little": 1e-3, "negative": -1.0}
    stored = {name: np.float32(value).reshape(()) for name, value in constants.items() if name in body}
    network = Graph(graph(f"t (float[2] x, float[2] z) => (float[2] y) {{ {body} }}", 17, stored))
    assert {name for name, value in ((ZERO, 0.0), (ONE, 1.0)) if ends_in_infinity(network, "x", value)} == fatal


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
