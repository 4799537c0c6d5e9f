"""Positions, scales, rounding and saturation against definitions that can be read."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from ort_vitis_plugin.numerics import positions
from ort_vitis_plugin.numerics.qtypes import host_qtype

INT8, UINT8, INT16 = host_qtype("QInt8"), host_qtype("QUInt8"), host_qtype("QInt16")


@pytest.mark.parametrize("position", [-126, -1, 0, 1, 7, 126])
def test_scale_and_position_are_inverse(position: int) -> None:
    scale = positions.scale_of(position)
    assert scale == 2.0**-position
    assert positions.position_of(scale) == position
    assert positions.nearest_position(scale) == position
    assert np.float32(scale) == scale
    assert np.isfinite(np.float32(1) / np.float32(scale))


@pytest.mark.parametrize("scale", [0.3, 3.0, 0.1, 1.5, 0.0])
def test_other_scales_have_no_position(scale: float) -> None:
    assert positions.position_of(scale) is None


@pytest.mark.parametrize(
    ("scale", "position"), [(0.26, 2), (0.17, 3), (0.0, 7), (-1.0, 7), (math.inf, 7), (1e-45, 126)]
)
def test_nearest_position(scale: float, position: int) -> None:
    assert positions.nearest_position(scale) == position


def largest_covering(low: float, high: float, qmin: int, qmax: int) -> int:
    """By definition: the largest p for which every value fits."""
    for position in range(positions.MAX_POSITION, positions.MIN_POSITION - 1, -1):
        step = Fraction(2) ** -position
        if qmin * step <= Fraction(low) and Fraction(high) <= qmax * step:
            return position
    return positions.MIN_POSITION


@pytest.mark.parametrize("limits", [(-128, 127), (0, 255), (-32768, 32767), (-8, 7)])
def test_covering_position_is_the_finest_that_never_clips(limits: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    ranges = [(-1.0, 1.0), (-1.0, 127 / 128), (-2.0, 0.0), (0.0, 255.0), (0.0, 256.0), (-1e-30, 1e30)]
    ranges += [tuple(sorted(rng.standard_normal(2) * 10.0 ** rng.integers(-6, 6))) for _ in range(200)]
    for low, high in ranges:
        low, high = min(float(low), 0.0), max(float(high), 0.0)
        if limits[0] == 0:
            low = 0.0
        if (low, high) != (0.0, 0.0):
            assert positions.covering_position(low, high, *limits) == largest_covering(low, high, *limits)


def test_covering_position_at_the_edges() -> None:
    assert positions.covering_position(0.0, 0.0, -128, 127) == positions.ZERO_POSITION
    assert positions.covering_position(-1.0, 1.0, 0, 255) == positions.MIN_POSITION  # nothing covers it
    assert positions.covering_position(0.0, math.inf, -128, 127) == positions.MIN_POSITION
