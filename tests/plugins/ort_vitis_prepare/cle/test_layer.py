"""The divisor of a bias follows the original's table of ratios of biases to weights."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import graph
from ort_vitis_prepare.cle.layer import Layer, bias_divisor

# Each limit from both sides: median 15, 30, 100; mean 100, 500, 1000; the largest bias 10, and 20 times the weights.
TABLE = [
    ([1.0], 9.9, 2.0),
    ([1.0], 10.1, 5.0),
    ([1.0], 14.5, 5.0),
    ([1.0], 15.5, 10.0),
    ([1.0], 29.5, 10.0),
    ([1.0], 30.5, 20.0),
    ([0.5], 9.9, 2.0),
    ([0.49], 9.9, 10.0),
    ([1.0, 9.5 / 99.5, 9.5 / 99.5, 9.5 / 99.5], 9.5, 2.0),
    ([1.0, 9.5 / 100.5, 9.5 / 100.5, 9.5 / 100.5], 9.5, 5.0),
    ([1.0, 1.0, 1.0, 9.5 / 3950], 9.5, 2.0),
    ([1.0, 1.0, 1.0, 9.5 / 3990], 9.5, 5.0),
    ([1.0, 1.0, 1.0, 10.5 / 366], 10.5, 5.0),
    ([1.0, 1.0, 1.0, 10.5 / 371], 10.5, 10.0),
    ([1.0, 1.0, 1.0, 10.5 / 1966], 10.5, 10.0),
    ([1.0, 1.0, 1.0, 10.5 / 1971], 10.5, 20.0),
    ([0.0, -1.0], 50.0, 2.0),
]


@pytest.mark.parametrize(("weights", "bias", "divisor"), TABLE)
def test_the_larger_biases_are_the_less_they_count(weights: list[float], bias: float, divisor: float) -> None:
    assert bias_divisor(np.float32([weights]), np.array([bias]), np.ones(1)) == divisor


@pytest.mark.parametrize(
    ("shape", "groups", "expected"),
    [((4, 1), 4, True), ((8, 1), 4, False), ((4, 2), 2, False), ((6, 4), 1, False), ((2, 2), 2, False)],
)
def test_a_layer_is_depthwise_where_each_channel_reads_itself_alone(
    shape: tuple[int, int], groups: int, expected: bool
) -> None:
    channels = shape[1] * groups
    text = f"t (float[1, {channels}, 5, 5] x) => (float[] y) {{ y = Conv<group = {groups}>(x, w) }}"
    whole = Graph(graph(text, 17, {"w": np.ones((*shape, 3, 3), np.float32)}))
    assert Layer(whole, next(iter(whole))).depthwise is expected
