"""Limits of Relu and Clip, in each spelling."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math

import numpy as np
import pytest

from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.graph.clip_limits import clip_limits
from ort_vitis_plugin.testing import graph

CASES = {
    "y = Relu(x)": (0.0, None),
    "y = Clip(x, a, b)": (-1.0, 6.0),
    "y = Clip(x)": (None, None),
    "y = Clip(x, a)": (-1.0, None),
    'y = Clip(x, "", b)': (None, 6.0),
    "y = Clip(x, i)": (None, None),
}


@pytest.mark.parametrize("text", CASES)
def test_constant_limits(text: str) -> None:
    constants = {"a": np.float32(-1), "b": np.float32(6), "i": np.float32(-np.inf)}
    whole = Graph(graph(f"t (float[2] x) => (float[2] y) {{ {text} }}", 17, constants))
    assert clip_limits(whole, next(iter(whole))) == CASES[text]


def test_attributes_of_old_opsets() -> None:
    whole = Graph(graph("t (float[2] x) => (float[2] y) { y = Clip<min = -2.0, max = 3.0>(x) }", 10))
    assert clip_limits(whole, next(iter(whole))) == (-2.0, 3.0)


def test_a_computed_limit_is_no_number() -> None:
    whole = Graph(graph("t (float[2] x, float a) => (float[2] y) { y = Clip(x, a) }"))
    low, high = clip_limits(whole, next(iter(whole)))
    assert low is not None
    assert math.isnan(low)
    assert high is None
