"""Positions and scales: a fix position p stands for the step 2^-p; only this file writes that power."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .types import QType

# Steps stay normal float32 numbers whose reciprocals are normal too.
MIN_POSITION, MAX_POSITION = -126, 126

# A tensor that is zero everywhere is exact at any step; it takes this one.
ZERO_POSITION = 7


def scale_of(position: int) -> float:
    """2^-position."""
    return math.ldexp(1.0, -position)


def position_of(scale: float) -> int | None:
    """The p with scale == 2^-p, or None when the scale is no power of two."""
    mantissa, exponent = math.frexp(scale)
    return 1 - exponent if mantissa == 0.5 else None


def nearest_position(scale: float) -> int:
    """round(-log2(scale)), within the limits of float32."""
    if scale <= 0 or not math.isfinite(scale):
        return ZERO_POSITION
    return int(min(max(round(-math.log2(scale)), MIN_POSITION), MAX_POSITION))


def covering_position(low: float, high: float, qmin: int, qmax: int) -> int:
    """The largest p for which [qmin, qmax] * 2^-p covers [low, high]; both code ranges are relative to zero."""
    need = 0.0
    if high > 0:
        need = max(need, high / qmax) if qmax > 0 else math.inf
    if low < 0:
        need = max(need, low / qmin) if qmin < 0 else math.inf
    if need == 0:
        return ZERO_POSITION
    if not math.isfinite(need):
        return MIN_POSITION
    mantissa, exponent = math.frexp(need)
    position = -exponent + (1 if mantissa == 0.5 else 0)
    return min(max(position, MIN_POSITION), MAX_POSITION)


def quantize(
    values: NDArray[Any], scale: NDArray[Any], zero_point: NDArray[Any], limits: tuple[int, int]
) -> NDArray[np.int64]:
    """clip(round_half_even(x / scale) + zero_point, *limits) in float32 division, as QuantizeLinear computes it."""
    x = np.asarray(values, dtype=np.float32)
    low, high = limits
    with np.errstate(over="ignore"):  # what overflows saturates
        ratio = (x / np.asarray(scale, dtype=np.float32)).astype(np.float64)
    codes = np.rint(np.clip(ratio, low - zero_point, high - zero_point))
    return codes.astype(np.int64) + np.asarray(zero_point, dtype=np.int64)


def dequantize(codes: NDArray[Any], scale: NDArray[Any], zero_point: NDArray[Any]) -> NDArray[np.float32]:
    """(q - zero_point) * scale, rounded once to float32."""
    difference = np.asarray(codes, dtype=np.int64) - np.asarray(zero_point, dtype=np.int64)
    return difference.astype(np.float32) * np.asarray(scale, dtype=np.float32)


def fake_quant(values: NDArray[Any], position: int, kind: QType, zero_point: int | None = None) -> NDArray[np.float32]:
    """``values`` as the device sees them at step 2^-position in the type ``kind`` (zero point: symmetric)."""
    scale = np.float32(scale_of(position))
    zero = np.asarray(kind.symmetric_zero_point() if zero_point is None else zero_point, dtype=np.int64)
    return dequantize(quantize(values, np.asarray(scale), zero, kind.limits()), np.asarray(scale), zero)


def along(values: NDArray[Any], rank: int, axis: int | None) -> NDArray[Any]:
    """A per-channel vector shaped to broadcast along ``axis`` of an array of that rank; scalars pass."""
    if axis is None or values.ndim == 0:
        return values
    shape = [1] * rank
    shape[axis] = values.size
    return values.reshape(shape)


def sqnr_db(reference: NDArray[Any], other: NDArray[Any]) -> float:
    """10 log10(sum f^2 / sum (f - q)^2) in decibels; infinite where both agree."""
    f = np.asarray(reference, dtype=np.float64)
    noise = float(np.sum((f - np.asarray(other, dtype=np.float64)) ** 2))
    signal = float(np.sum(f**2))
    if noise == 0:
        return math.inf
    return 10 * math.log10(signal / noise) if signal > 0 and math.isfinite(noise) else -math.inf
