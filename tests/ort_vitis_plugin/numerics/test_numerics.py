"""Positions, scales, rounding and saturation against definitions that can be read."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from ort_vitis_plugin.numerics import positions
from ort_vitis_plugin.numerics.qtypes import qtype
from ort_vitis_plugin.numerics.quantize import along, fake_quant, quantize, round_to_float
from ort_vitis_plugin.numerics.sqnr import sqnr_db

INT8, UINT8, INT16 = qtype("QInt8"), qtype("QUInt8"), qtype("QInt16")


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


def test_quantize_rounds_half_to_even_and_saturates() -> None:
    values = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 126.5, 127.5, 1e30, -1e30, np.inf, -np.inf], np.float32)
    codes = quantize(values, np.float32(1), np.int64(0), INT8.limits())
    assert codes.tolist() == [0, 2, 2, 0, -2, 126, 127, 127, -128, 127, -128]


@pytest.mark.parametrize("kind", ["QInt8", "QUInt8", "QInt16", "QUInt16"])
def test_quantize_is_onnxruntimes(kind: str) -> None:
    """The same codes as QuantizeLinear for random scales and zero points."""
    from ort_vitis_plugin.numerics.qtypes import storage_dtype
    from ort_vitis_plugin.testing import graph, run_model

    known = qtype(kind)
    name = str(storage_dtype(known))
    rng = np.random.default_rng(1)
    values = (rng.standard_normal(2000) * 100).astype(np.float32)
    scale = np.float32(rng.uniform(0.01, 1))
    zero = rng.integers(known.min, known.max, endpoint=True)
    model = graph(
        f"t (float[2000] x, float s, {name} z) => ({name}[2000] y) {{ y = QuantizeLinear(x, s, z) }}",
        opset=21,
        ir_version=10,
    )
    feeds = {"x": values, "s": np.array(scale), "z": np.array(zero, storage_dtype(known))}
    expected = run_model(model, feeds)["y"]
    found = quantize(values, scale, np.int64(zero), known.limits())
    np.testing.assert_array_equal(found, expected.astype(np.int64))


def test_fake_quant_is_a_projection() -> None:
    values = np.random.default_rng(2).standard_normal(1000).astype(np.float32)
    for kind in (INT8, UINT8, INT16):
        once = fake_quant(values, 5, kind)
        np.testing.assert_array_equal(fake_quant(once, 5, kind), once)
        inside = np.abs(values) < 127 * 2.0**-5 if kind.is_signed else (values >= -4) & (values < 3.96)
        assert np.max(np.abs(once - values)[inside]) <= 2.0**-6


def test_along_broadcasts_channels() -> None:
    assert along(np.arange(3), 4, 1).shape == (1, 3, 1, 1)
    assert along(np.arange(3), 2, -1).shape == (1, 3)
    assert along(np.array(5), 4, 1).shape == ()


def test_sqnr() -> None:
    f = np.array([3.0, 4.0])
    assert sqnr_db(f, f) == math.inf
    assert sqnr_db(f, f + np.array([0.5, 0.0])) == pytest.approx(20.0)
    assert sqnr_db(np.zeros(2), np.ones(2)) == -math.inf
    assert sqnr_db(f, np.array([np.inf, 4.0])) == -math.inf


def test_float8_rounds_to_the_nearest_and_saturates() -> None:
    values = np.array([0.0, 1.03, 1.07, -448.0, 460.0, 1e30, -np.inf, np.inf, 2.0**-10, 2.0**-11], np.float32)
    found = round_to_float(values, np.float32(1), qtype("QFLOAT8E4M3FN"))
    assert found.tolist() == [0.0, 1.0, 1.125, -448.0, 448.0, 448.0, -448.0, 448.0, 0.0, 0.0]
    assert round_to_float(np.float32([3e38]), np.float32(1e-3), qtype("QFLOAT8E4M3FN")).tolist() == [448.0]
