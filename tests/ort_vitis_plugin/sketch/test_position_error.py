"""The squared error of positions against that of every value in float64: exact where the sketch says so."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_plugin.sketch import squared_error_direct
from tests.models.distributions import DISTRIBUTIONS, data
from tests.ort_vitis_plugin.sketch.truth import exhaustive, sketch_of

RANGES = {"int4": (-8, 7), "int8": (-128, 127), "uint8": (0, 255), "int8_symmetric": (-127, 127)}


@pytest.mark.parametrize("kind", RANGES)
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_error_of_8_bit_positions_is_exact(name: str, kind: str) -> None:
    qmin, qmax = RANGES[kind]
    positions = range(-8, 16)
    for seed in range(25):
        values = data(name, seed, 1000)
        sketch = sketch_of(values)
        assert sketch.exact(positions, qmin, qmax).all()
        errors, truth = sketch.squared_error(positions, qmin, qmax), exhaustive(values, positions, qmin, qmax)
        assert truth[np.argmin(errors)] <= truth.min() * (1 + 1e-9)
        np.testing.assert_allclose(errors, truth, rtol=1e-9, atol=2e-14 * sketch.sum_squares)


@pytest.mark.parametrize(("zero_point", "qmin", "qmax"), [(3, -128, 127), (128, 0, 255), (-128, -128, 127), (8, 0, 15)])
def test_error_with_a_zero_point_is_exact(zero_point: int, qmin: int, qmax: int) -> None:
    values = data("uniform", 3)
    positions = range(10)
    np.testing.assert_allclose(
        sketch_of(values).squared_error(positions, qmin, qmax, zero_point),
        exhaustive(values, positions, qmin, qmax, zero_point),
        rtol=1e-9,
    )


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_error_of_16_bit_positions(name: str) -> None:
    """Exact where it says so, the best position within 1e-3 of the least error elsewhere."""
    positions = range(-4, 22)
    for seed in range(5):
        values = data(name, seed, 20000)
        sketch = sketch_of(values)
        errors, truth = sketch.squared_error(positions, -32768, 32767), exhaustive(values, positions, -32768, 32767)
        exact = sketch.exact(positions, -32768, 32767)
        assert exact.any()
        assert not exact.all()
        np.testing.assert_allclose(errors[exact], truth[exact], rtol=1e-9, atol=2e-14 * sketch.sum_squares)
        assert truth[np.argmin(errors)] <= truth.min() * (1 + 1e-3) + 1e-18 * sketch.sum_squares


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_best_16_bit_position_is_among_the_contenders(name: str) -> None:
    positions = range(-4, 22)
    for seed in range(25):
        values = data(name, seed, 4000)
        contenders = sketch_of(values).contenders(positions, -32768, 32767)
        truth = exhaustive(values, positions, -32768, 32767)
        assert min(truth[p - positions[0]] for p in contenders) <= truth.min() * (1 + 1e-9)
        assert sketch_of(values).contenders(positions, -128, 127) == [
            positions[int(np.argmin(sketch_of(values).squared_error(positions, -128, 127)))]
        ]


@pytest.mark.parametrize(("qmin", "qmax", "zero_point"), [(-32768, 32767, 0), (0, 65535, 20000), (-128, 127, 5)])
def test_direct_error_equals_the_exhaustive_one(qmin: int, qmax: int, zero_point: int) -> None:
    values = data("normal", 5, 100_000)
    positions = range(4, 18)
    np.testing.assert_allclose(
        squared_error_direct(values.reshape(100, -1), positions, qmin, qmax, zero_point),
        exhaustive(values, positions, qmin, qmax, zero_point),
        rtol=1e-12,
    )
