"""Two models are compared over all samples by sums, output by output."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_plugin.errors import CalibrationError, ModelError
from ort_vitis_plugin.measure.evaluate import compare
from ort_vitis_plugin.testing import graph


def model(number: float, output: str = "y"):
    text = f"t (float[2] x) => (float[2] {output}) {{ {output} = Add(x, c) }}"
    return graph(text, 17, {"c": np.full(2, number, np.float32)})


FEEDS = [{"x": np.array([1, 2], np.float32)}, {"x": np.array([3, -4], np.float32)}]


def test_decibels_and_the_largest_difference() -> None:
    decibels, largest, other_sizes = compare(model(0), model(0.5), FEEDS)["y"]
    assert decibels == pytest.approx(10 * np.log10((1 + 4 + 9 + 16) / (4 * 0.25)))
    assert (largest, other_sizes) == (0.5, 0)


def test_equal_models() -> None:
    assert compare(model(1), model(1), FEEDS)["y"] == (np.inf, 0.0, 0)


def test_other_outputs_and_no_sample() -> None:
    with pytest.raises(ModelError, match="no output 'y'"):
        compare(model(0), model(0, "z"), FEEDS)
    with pytest.raises(CalibrationError, match="no sample"):
        compare(model(0), model(0), [])
