"""Positions: NonOverflow never clips and is as fine as it can be; MinMSE beats every other position."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ort_vitis_plugin.numerics.positions import ZERO_POSITION, scale_of
from ort_vitis_plugin.numerics.qtypes import QType, host_qtype
from ort_vitis_plugin.numerics.quantize import dequantize, fake_quant, quantize
from ort_vitis_plugin.plan.affine import (
    NARROWED,
    affine,
    in_blocks,
    linear,
    restricted,
    rounded_up,
    softmax_affine,
    widened,
    with_float_scale,
)
from ort_vitis_plugin.plan.error_curve import ErrorCurve
from ort_vitis_plugin.sketch import Sketch

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


Random = np.random.Generator


DISTRIBUTIONS: dict[str, Callable[[Random], NDArray[Any]]] = {
    "normal": lambda r: r.standard_normal(997),
    "uniform": lambda r: r.uniform(-3, 5, 997),
    "laplace": lambda r: r.laplace(0, 0.01, 997),
    "relu": lambda r: np.maximum(r.standard_normal(997), 0),
    "heavy tail": lambda r: r.standard_t(2, 997),
    "one outlier": lambda r: np.append(r.standard_normal(997) * 0.01, 50.0),
    "lattice": lambda r: r.integers(-40, 40, 997) * 0.25,
    "log-normal": lambda r: r.lognormal(0, 2, 997),
}


KINDS = [host_qtype("QInt8"), host_qtype("QUInt8"), host_qtype("QInt16")]


def values_of(name: str, seed: int) -> NDArray[np.float32]:
    random = np.random.default_rng(seed)
    return (DISTRIBUTIONS[name](random) * 2.0 ** random.integers(-12, 12)).astype(np.float32)


def curve_of(values: NDArray[Any], kind: QType, *, symmetric: bool = True, never_clips: bool = False) -> ErrorCurve:
    sketch = Sketch()
    sketch.add(values)
    return ErrorCurve(sketch, kind, kind.limits(), symmetric, values, never_clips)


def squared_error(values: NDArray[Any], kind: QType, position: int, zero: int) -> float:
    """The definition, value by value in float64."""
    step, (low, high) = scale_of(position), kind.limits()
    codes = np.clip(np.rint(values.astype(np.float64) / step) + zero, low, high)
    return float(((values - (codes - zero) * step) ** 2).sum())


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_minmse_beats_every_other_position(name: str, kind: QType) -> None:
    for seed in range(9):  # 8 distributions x 9 seeds x 3 types = 216 tensors
        values = values_of(name, seed)
        curve = curve_of(values, kind)
        best = curve.best()
        least = squared_error(values, kind, best, curve.zero_point(best))
        for position in range(best - 12, best + 26):
            other = squared_error(values, kind, position, kind.symmetric_zero_point())
            assert least <= other * (1 + 1e-9), (seed, best, position)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_original_search_is_never_better(name: str) -> None:
    """Five candidates from one coarser than round(-log2 s) on, as the original tool tries them."""
    kind = host_qtype("QInt8")
    for seed in range(9):
        values = values_of(name, seed)
        start = round(-math.log2(2 * np.abs(values).max() / 255))
        theirs = min(squared_error(values, kind, p, 0) for p in range(start - 1, start + 4))
        curve = curve_of(values, kind)
        assert squared_error(values, kind, curve.best(), 0) <= theirs * (1 + 1e-9)


def test_of_equal_errors_the_larger_step_wins() -> None:
    assert curve_of(np.array([64.0, -64.0, 128.0, -128.0], np.float32), host_qtype("QInt8")).best() == -6


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_nonoverflow_clips_nothing_and_is_the_finest_such(name: str, kind: QType, symmetric: bool) -> None:
    low, high = kind.limits()
    for seed in range(9):
        values = values_of(name, seed)
        curve = curve_of(values, kind, symmetric=symmetric, never_clips=True)
        position = curve.covering()
        zero = curve.zero_point(position)
        step = scale_of(position)
        assert (low - zero) * step <= values.min(initial=0.0)
        assert values.max(initial=0.0) <= (high - zero) * step
        if symmetric:
            finer = scale_of(position + 1)
            assert (low - zero) * finer > values.min() or (high - zero) * finer < values.max()


@pytest.mark.parametrize("values", [np.zeros(5, np.float32), np.zeros(0, np.float32)], ids=["zeros", "empty"])
def test_a_tensor_of_zeros_is_exact_anywhere(values: NDArray[Any]) -> None:
    curve = curve_of(values, host_qtype("QInt8"))
    assert curve.best() == ZERO_POSITION
    assert [curve.error(position) for position in (-5, 0, 20)] == [0, 0, 0]


def test_asymmetric_zero_point_uses_the_room_of_a_one_sided_range() -> None:
    values = np.linspace(0, 3.9, 500, dtype=np.float32)
    one_sided, symmetric = curve_of(values, host_qtype("QInt8"), symmetric=False), curve_of(values, host_qtype("QInt8"))
    assert one_sided.best() == symmetric.best() + 1
    assert one_sided.zero_point(one_sided.best()) == -128


@pytest.mark.parametrize(
    "kind", [host_qtype("QInt8"), host_qtype("QUInt8"), host_qtype("QInt16"), host_qtype("QUInt16")], ids=str
)
@pytest.mark.parametrize(("low", "high"), [(-1.0, 1.0), (0.0, 6.0), (-3.0, 0.5), (2.0, 3.0), (-7.0, -6.0)])
def test_affine_maps_the_range_onto_the_codes(kind: QType, low: float, high: float) -> None:
    given = affine(low, high, kind, kind.limits(), symmetric=False)
    ends = np.array([min(low, 0.0), max(high, 0.0)])
    step = float(given.scale)
    codes = quantize(ends, given.scale, given.zero_point, kind.limits())
    assert np.abs(dequantize(codes, given.scale, given.zero_point) - ends).max() <= step * 0.51
    assert dequantize(given.zero_point, given.scale, given.zero_point) == 0


@pytest.mark.parametrize("reach", [0.0, 1e-44, 1e-30, 1e30])
def test_affine_scales_are_normal_numbers(reach: float) -> None:
    for symmetric in (True, False):
        scale = affine(-reach, reach, host_qtype("QInt8"), (-128, 127), symmetric=symmetric).scale
        assert scale >= np.finfo(np.float32).tiny
        assert np.isfinite(1 / scale)


@pytest.mark.parametrize(
    ("kind", "symmetric", "position", "zero"),
    [
        ("QInt8", True, 7, 0),
        ("QUInt8", True, 7, 128),
        ("QInt8", False, 8, -128),
        ("QUInt8", False, 8, 0),
        ("QInt16", True, 15, 0),
        ("QUInt16", False, 16, 0),
    ],
)
def test_softmax_outputs_fill_the_codes(kind: str, symmetric: bool, position: int, zero: int) -> None:
    given = softmax_affine(host_qtype(kind), symmetric=symmetric)
    assert (float(given.scale), int(given.zero_point)) == (2.0**-position, zero)


def test_minimum_real_range_widens() -> None:
    assert widened(-0.1, 0.1, None) == (-0.1, 0.1)
    assert widened(-0.1, 0.1, 0.2) == (-0.1, 0.1)
    assert widened(-0.1, 0.1, 1.0) == (-0.1, 0.9)


def test_fake_quant_is_the_round_trip() -> None:
    values = np.array([0.0, 0.49, 0.5, 1.5, -200.0, 200.0], np.float32)
    assert fake_quant(values, 0, host_qtype("QInt8")).tolist() == [0, 0, 0, 2, -128, 127]
    assert fake_quant(values, 0, host_qtype("QUInt8")).tolist() == [0, 0, 0, 2, -128, 127]


@pytest.mark.parametrize(("low", "high"), [(-3.0, 1.0), (0.5, 7.0), (-9.0, -2.0)])
def test_the_largest_magnitude_is_the_largest_float8(low: float, high: float) -> None:
    found = linear(low, high, host_qtype("QFLOAT8E4M3FN"))
    assert found.scale * 448 == pytest.approx(max(-low, high), rel=1e-6)
    assert found.zero_point == 0


@pytest.mark.parametrize(("reach", "scale"), [(0.0, 1.0), (1e-44, np.finfo(np.float32).tiny)])
def test_float8_of_nothing_has_a_scale_that_divides(reach: float, scale: float) -> None:
    assert linear(-reach, reach, host_qtype("QFLOAT8E4M3FN")).scale == scale


@pytest.mark.parametrize("kind", ["QInt8", "QUInt8"])
@pytest.mark.parametrize("symmetric", [False, True])
def test_the_next_power_of_two_covers_the_range(kind: str, symmetric: bool) -> None:
    limits = host_qtype(kind).limits()
    given = with_float_scale(-3.0, 5.0, host_qtype(kind), limits, symmetric=symmetric)
    found = rounded_up(given, -3.0, limits, symmetric=symmetric)
    assert given.scale <= found.scale < 2 * given.scale
    assert math.log2(found.scale).is_integer()
    lowest, highest = ((limit - int(found.zero_point)) * float(found.scale) for limit in limits)
    assert lowest <= -3.0
    assert highest >= 5.0


CODES = [host_qtype(name) for name in ("QInt4", "QUInt4", "QInt8", "QUInt8", "QInt16", "QUInt16")]


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("kind", CODES, ids=str)
def test_every_block_is_covered_as_finely_as_its_own_range_allows(kind: QType, axis: int, symmetric: bool) -> None:
    w = np.random.default_rng(0).normal(size=(7, 8)) * 2.0 ** np.arange(8)
    w[:, 0] = w[0] = 0
    qmin, qmax = kind.limits()
    qmin = -qmax if symmetric and kind.is_signed and kind.bits in NARROWED else qmin
    given = in_blocks(w, kind, axis, 3, symmetric=symmetric)
    for line in range(w.shape[1 - axis]):
        values = w.take(line, axis=1 - axis)
        for block, (scale, zero) in enumerate(
            zip(given.scale.take(line, axis=1 - axis), given.zero_point.take(line, axis=1 - axis), strict=True)
        ):
            own = values[3 * block : 3 * block + 3]
            codes = np.clip(np.rint(own / scale) + zero, qmin, qmax)
            assert np.abs((codes - zero) * scale - own).max() <= scale * 1.001 if own.any() else scale == 1
            low, high = min(own.min(), 0), max(own.max(), 0)
            width = 2 * max(-low, high) if symmetric else high - low
            assert scale == pytest.approx(width / (qmax - qmin) if own.any() else 1, rel=1e-6)
            assert zero == kind.symmetric_zero_point() or not symmetric
            assert qmin <= zero <= qmax
    assert given.scale.shape == given.zero_point.shape == ((3, 8) if axis == 0 else (7, 3))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("size", [8, 1000, 2**62])
def test_a_block_larger_than_the_axis_is_the_axis(axis: int, size: int) -> None:
    w = np.random.default_rng(0).normal(size=(8, 8))
    given, whole = (in_blocks(w, KINDS[0], axis, rows, symmetric=True) for rows in (size, 8))
    assert given.scale.shape == ((1, 8) if axis == 0 else (8, 1))
    np.testing.assert_array_equal(given.scale, whole.scale)


@pytest.mark.parametrize("kind", CODES, ids=str)
@pytest.mark.parametrize(("low", "high"), [(-3.0, 1.0), (0.5, 7.0), (-9.0, -2.0)])
def test_symmetric_float_scales_fill_all_codes(kind: QType, low: float, high: float) -> None:
    qmin, qmax = kind.limits()
    qmin = -qmax if kind.is_signed and kind.bits in NARROWED else qmin
    given = with_float_scale(low, high, kind, kind.limits(), symmetric=True)
    assert given.scale == pytest.approx(2 * max(-low, high) / (qmax - qmin), rel=1e-6)
    assert given.zero_point == kind.symmetric_zero_point()


def test_a_restricted_zero_point_lies_on_the_lowest_code_or_in_the_middle() -> None:
    tiny = float(np.finfo(np.float32).tiny)
    rows = ((0.0, 255.0, 1.0, 0), (3.0, 510.0, 2.0, 0), (-128.0, 1.0, 1.0, 128), (-1.0, 254.0, 2.0, 128))
    for low, high, scale, zero in (*rows, (0.0, 255 * tiny, tiny, 0), (0.0, 0.0, 1.0, 0)):
        given = restricted(low, high, (0, 255))
        assert (given.scale, given.zero_point) == (np.float32(scale), zero)
