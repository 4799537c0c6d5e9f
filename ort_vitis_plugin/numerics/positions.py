"""Positions and scales: a fix position p stands for the step 2^-p; only this file writes that power."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math

# Steps stay normal float32 numbers whose reciprocals are normal too.
MIN_POSITION, MAX_POSITION = -126, 126

# A tensor that is zero everywhere is exact at any step; it takes this one (2^-7: int8 codes of it hold [-1, 1)).
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
