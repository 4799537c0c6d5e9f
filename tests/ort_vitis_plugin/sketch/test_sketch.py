"""Figures of a sketch against numpy over the values themselves."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math

import numpy as np
import pytest

from ort_vitis_plugin.sketch import Sketch
from tests.models.distributions import DISTRIBUTIONS, data
from tests.ort_vitis_plugin.sketch.truth import exhaustive, sketch_of


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_moments_and_extremes(name: str) -> None:
    values = data(name, 7, 50_000)
    sketch, x = sketch_of(values), values.astype(np.float64)
    assert (sketch.count, sketch.minimum, sketch.maximum) == (x.size, x.min(), x.max())
    assert sketch.abs_max == np.abs(x).max()
    assert sketch.sum == math.fsum(x)
    assert sketch.sum_squares == pytest.approx(math.fsum(x * x), rel=1e-14)
    assert sketch.deviation == pytest.approx(x.std(), rel=1e-8)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_percentiles(name: str) -> None:
    values = data(name, 11, 50_000)
    sketch = sketch_of(values)
    assert sketch.percentile(100) == (values.min(), values.max())
    step = 2.0**-5 if name == "lattice" else 0
    low, high = sketch.percentile(99)
    assert low == pytest.approx(np.percentile(values, 0.5), rel=5e-3, abs=step + 1e-3 * sketch.deviation)
    assert high == pytest.approx(np.percentile(values, 99.5), rel=5e-3, abs=step + 1e-3 * sketch.deviation)
    low, high = sketch.percentile(99, absolute=True)
    assert low == -high
    assert high == pytest.approx(np.percentile(np.abs(values), 99), rel=5e-3, abs=step)
    assert sketch.percentile(100, absolute=True)[1] == sketch.abs_max


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_histogram(name: str) -> None:
    values = data(name, 13, 50_000)
    counts, edges = sketch_of(values).histogram(64)
    truth, true_edges = np.histogram(values.astype(np.float64), 64)
    np.testing.assert_array_equal(edges, true_edges)
    assert counts.sum() == values.size
    # A fine bin at the end of the range may lie across a border of two coarse ones.
    assert np.abs(np.cumsum(counts) - np.cumsum(truth)).max() <= 0.01 * values.size


def test_histogram_of_a_lattice_is_that_of_numpy() -> None:
    values = np.random.default_rng(0).integers(-16, 17, 5000).astype(np.float32)
    for bins in (8, 32, 33):
        np.testing.assert_array_equal(sketch_of(values).histogram(bins)[0], np.histogram(values, bins)[0])


def test_non_finite_values_are_counted_apart() -> None:
    for size in (10, 20_000):
        values = data("normal", 1, size)
        spoiled = np.concatenate([values, np.array([np.nan, np.inf, -np.inf, np.nan, -np.nan], np.float32)])
        sketch = sketch_of(spoiled)
        assert (sketch.nan_count, sketch.inf_count, sketch.count) == (3, 2, size)
        plain = sketch_of(values)
        assert (sketch.minimum, sketch.maximum, sketch.sum) == (plain.minimum, plain.maximum, plain.sum)
        errors, plain_errors = (each.squared_error(range(8), -128, 127) for each in (sketch, plain))
        np.testing.assert_array_equal(errors, plain_errors)
    only = sketch_of(np.array([np.nan, np.inf], np.float32))
    assert (only.count, only.minimum, only.maximum, only.sum) == (0, 0.0, 0.0, 0.0)


def test_empty() -> None:
    for sketch in (Sketch(), sketch_of(np.zeros((0, 3), np.float32))):
        figures = (sketch.count, sketch.minimum, sketch.maximum, sketch.abs_max, sketch.sum, sketch.sum_squares)
        assert figures == (0, 0, 0, 0, 0, 0)
        assert sketch.squared_error([0, 5], -128, 127).tolist() == [0, 0]
        assert sketch.percentile(99) == sketch.percentile(99, absolute=True) == sketch.entropy_range() == (0, 0)
        assert sketch.histogram(4)[0].tolist() == [0, 0, 0, 0]
        assert Sketch.from_bytes(sketch.to_bytes()) == Sketch()


@pytest.mark.parametrize("value", [0.0, -0.0, 0.02, -3.7, 1e-42, 3e38])
def test_constant(value: float) -> None:
    values = np.full(1000, value, np.float32)
    sketch = sketch_of(values)
    exact = float(values[0])
    assert sketch.minimum == sketch.maximum == exact
    assert sketch.percentile(99.9) == (exact, exact)
    assert sketch.deviation == pytest.approx(0, abs=1e-12 * abs(exact))
    positions = range(-3, 10)
    np.testing.assert_allclose(
        sketch.squared_error(positions, -128, 127), exhaustive(values, positions, -128, 127), rtol=1e-9
    )
    assert sketch.histogram(10)[0].tolist() == [0] * 5 + [1000] + [0] * 4


def test_negative_zero_is_zero() -> None:
    sketch = sketch_of(np.array([-0.0, 0.0], np.float32), np.array([-0.0], np.float32))
    assert math.copysign(1, sketch.minimum) == math.copysign(1, sketch.maximum) == 1
    assert sketch.squared_error([7], -128, 127)[0] == 0
    assert sketch_of(np.array([0.0, -0.0], np.float32), np.array([-0.0], np.float32)) == sketch


def test_subnormals() -> None:
    rng = np.random.default_rng(3)
    magnitudes = rng.integers(0, 1 << 23, 5000).astype(np.uint32).view(np.float32)
    values = magnitudes * rng.choice([-1, 1], 5000).astype(np.float32)
    sketch = sketch_of(values)
    assert (sketch.minimum, sketch.maximum) == (values.min(), values.max())
    assert sketch.sum == math.fsum(values.astype(np.float64))
    positions = range(120, 134)
    np.testing.assert_allclose(
        sketch.squared_error(positions, -128, 127), exhaustive(values, positions, -128, 127), rtol=1e-9
    )
