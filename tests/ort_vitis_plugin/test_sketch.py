"""Figures of a sketch against numpy over the values themselves, and its independence of how the data was split."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
import pickle
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np
import pytest

from ort_vitis_plugin.errors import CalibrationError
from ort_vitis_plugin.sketch import Sketch, merged, squared_error_direct

if TYPE_CHECKING:
    from collections.abc import Callable

Rng = np.random.Generator

DISTRIBUTIONS: dict[str, Callable[[Rng, int], np.ndarray]] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "relu": lambda rng, n: np.maximum(rng.standard_normal(n) * 3, 0),
    "laplace": lambda rng, n: rng.laplace(0.3, 0.02, n),
    "uniform": lambda rng, n: rng.uniform(-1, 5, n),
    "lognormal": lambda rng, n: rng.lognormal(0, 2, n),
    "sigmoid": lambda rng, n: 1 / (1 + np.exp(-5 * rng.standard_normal(n))),
    "two_scales": lambda rng, n: np.where(rng.random(n) < 0.99, 1e-3, 50.0) * rng.standard_normal(n),
    "lattice": lambda rng, n: rng.integers(-100, 100, n) * 2.0**-5,
}
RANGES = {"int4": (-8, 7), "int8": (-128, 127), "uint8": (0, 255), "int8_symmetric": (-127, 127)}


def data(name: str, seed: int, size: int = 4000) -> np.ndarray:
    return DISTRIBUTIONS[name](np.random.default_rng(seed), size).astype(np.float32)


def sketch_of(*arrays: np.ndarray) -> Sketch:
    sketch = Sketch()
    for array in arrays:
        sketch.add(array)
    return sketch


def exhaustive(values: np.ndarray, positions: range, qmin: int, qmax: int, zero_point: int = 0) -> np.ndarray:
    x = values.astype(np.float64)
    errors = []
    for p in positions:
        q = np.clip(np.rint(x * 2.0**p) + zero_point, qmin, qmax)
        errors.append(math.fsum((x - (q - zero_point) * 2.0**-p) ** 2))
    return np.array(errors)


@pytest.mark.parametrize("size", [100, 200_000])  # by sorting and by table, below and above a piece
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_any_order_and_grouping_of_arrays_gives_the_same_bytes(name: str, size: int) -> None:
    rng = np.random.default_rng(2)
    arrays = [data(name, seed, size + 37 * seed) for seed in range(7)]
    whole = sketch_of(*arrays).to_bytes()
    for groups in (2, 3, 7):
        order = rng.permutation(7)
        parts = [sketch_of(*(arrays[at] for at in group)) for group in np.array_split(order, groups)]
        assert merged(parts).to_bytes() == whole


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_any_split_of_an_array_gives_the_same_integers(name: str) -> None:
    values = data(name, 1, 30_000)
    whole = sketch_of(values)
    for pieces in (2, 7):
        split = sketch_of(*np.array_split(np.random.default_rng(0).permutation(values), pieces))
        for mine, theirs in zip(vars(split.bins).values(), vars(whole.bins).values(), strict=True):
            np.testing.assert_array_equal(mine, theirs)
        assert split.sum_squares == pytest.approx(whole.sum_squares, rel=1e-14)


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


def divergence(counts: np.ndarray, half_width: int, quantized_bins: int) -> float:
    """The definition, one candidate, in plain loops."""
    half = len(counts) // 2
    inside = counts[half - half_width : half + half_width].astype(np.float64)
    p = inside.copy()
    p[0] += counts[: half - half_width].sum()
    p[-1] += counts[half + half_width :].sum()
    merge = len(inside) // quantized_bins
    q = np.zeros(len(p))
    for group in range(quantized_bins):
        at = slice(group * merge, (group + 1) * merge if group < quantized_bins - 1 else len(p))
        used = p[at] > 0
        if used.any():
            q[at][used] = inside[at].sum() / used.sum()
    p, q = p / p.sum(), np.maximum(q / p.sum(), 1e-12)
    return float(sum(a * math.log(a / b) for a, b in zip(p, q, strict=True) if a > 0))


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_entropy_range_has_the_least_divergence(name: str) -> None:
    sketch = sketch_of(data(name, 17, 20000))
    counts, edges = sketch.histogram(256, (-sketch.abs_max, sketch.abs_max))
    candidates = range(16, 129)
    truth = [divergence(counts, width, 32) for width in candidates]
    low, high = sketch.entropy_range(32, 256)
    chosen = [w for w in candidates if min(edges[128 + w], sketch.maximum) == high]
    assert min(truth[w - 16] for w in chosen) <= min(truth) + 1e-9
    assert sketch.minimum <= low <= high <= sketch.maximum


def test_entropy_clips_outliers() -> None:
    values = np.append(data("normal", 19, 100_000), np.float32(100))
    assert sketch_of(values).entropy_range()[1] < 20


def test_entropy_keeps_the_bulk_of_data_far_from_zero() -> None:
    values = data("laplace", 17, 20000)  # around 0.3
    low, high = sketch_of(values).entropy_range()
    assert np.mean((values >= low) & (values <= high)) > 0.99


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


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64, np.dtype(">f4")])
def test_other_float_types(dtype: type) -> None:
    values = data("normal", 23).astype(dtype).reshape(40, 100)
    assert sketch_of(values) == sketch_of(values.astype(np.float32))
    np.testing.assert_array_equal(sketch_of(values).bins.counts, sketch_of(values.T).bins.counts)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.bool_, object, "U3"])
def test_what_is_no_float_is_refused(dtype: type) -> None:
    with pytest.raises(CalibrationError, match="float16"):
        Sketch().add(np.zeros(3, dtype))


def test_bytes_come_back_and_bad_ones_are_refused() -> None:
    sketch = sketch_of(data("two_scales", 1), np.array([np.nan, np.inf], np.float32))
    stored = sketch.to_bytes()
    assert Sketch.from_bytes(stored) == pickle.loads(pickle.dumps(sketch)) == sketch
    for bad, words in (
        (b"", "not a sketch"),
        (b"x" * 100, "not a sketch"),
        (stored[:-1], "cut off"),
        (stored[:4] + b"\x09" + stored[5:], "version 9"),
    ):
        with pytest.raises(CalibrationError, match=words):
            Sketch.from_bytes(bad)


def test_what_comes_back_can_be_added_to() -> None:
    first, second = data("normal", 1), data("relu", 2)
    sketch = Sketch.from_bytes(sketch_of(first).to_bytes())
    sketch.add(second)
    assert sketch == sketch_of(first, second)
