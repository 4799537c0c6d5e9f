"""The reference against the tables of the MX specification, ml_dtypes' small floats, and arithmetic by hand."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ort_vitis_block import BLOCK_TYPES, block_floating_point, microscaling
from ort_vitis_plugin.errors import ModelError

SMALL_FLOATS = {
    "fp8_e5m2": ml_dtypes.float8_e5m2,
    "fp8_e4m3": ml_dtypes.float8_e4m3fn,
    "fp6_e3m2": ml_dtypes.float6_e3m2fn,
    "fp6_e2m3": ml_dtypes.float6_e2m3fn,
    "fp4_e2m1": ml_dtypes.float4_e2m1fn,
}
# The largest and the smallest number, and the largest exponent: tables 3 to 6 of the specification.
TABLES = {
    "fp8_e5m2": (57344.0, 2.0**-16, 15),
    "fp8_e4m3": (448.0, 2.0**-9, 8),
    "fp6_e3m2": (28.0, 2.0**-4, 4),
    "fp6_e2m3": (7.5, 2.0**-3, 2),
    "fp4_e2m1": (6.0, 0.5, 2),
}


def values_of(element: str) -> np.ndarray[Any, Any]:
    """Every finite number of the type."""
    dtype = np.dtype(SMALL_FLOATS[element])
    bits = ml_dtypes.finfo(dtype).bits
    values = np.arange(2**bits, dtype=np.uint8).view(dtype).astype(np.float32)
    return np.unique(values[np.isfinite(values)])


@pytest.mark.parametrize("element", TABLES)
def test_mx_keeps_what_its_element_type_holds(element: str) -> None:
    largest, smallest, _ = TABLES[element]
    values = values_of(element)
    assert values.max() == largest
    assert values[values > 0].min() == smallest
    for exponent in (-100, -3, 0, 40):
        scaled = np.ldexp(values, exponent)
        block = np.stack([scaled, np.full_like(scaled, largest * 2.0**exponent)], axis=1)
        np.testing.assert_array_equal(microscaling(block, element_dtype=element, axis=1), block)


@pytest.mark.parametrize("element", TABLES)
def test_mx_is_the_cast_to_its_element_type(element: str) -> None:
    """x / S cast by ml_dtypes, saturated first, for scales that E8M0 holds."""
    rng = np.random.default_rng(4)
    largest, _, emax = TABLES[element]
    x = (
        rng.standard_normal((400, 32)) * np.exp2(rng.integers(-24, 2, (400, 32)) + rng.integers(-90, 90, (400, 1)))
    ).astype(np.float32)
    x[::4] = np.round(x[::4] * np.exp2(-np.floor(np.log2(np.abs(x[::4]).max(1, keepdims=True))) + 4)) / 16
    scale = np.exp2(np.floor(np.log2(np.abs(x).max(1, keepdims=True))) - emax).astype(np.float32)
    assert (scale.astype(ml_dtypes.float8_e8m0fnu).astype(np.float32) == scale).all()
    cast = np.clip(x / scale, -largest, largest).astype(SMALL_FLOATS[element]).astype(np.float32) * scale
    np.testing.assert_array_equal(microscaling(x, element_dtype=element), cast)


def test_mx_scales_stop_at_two_to_the_minus_127() -> None:
    """E8M0 holds nothing below, so steps of E5M2 end at 2^-127 2^-16 and those of FP4 at 2^-128."""
    x = np.array([[2.0**-142, 2.0**-143, 2.0**-144, 1.5 * 2.0**-144]], np.float32)
    got = microscaling(x, element_dtype="fp8_e5m2")
    np.testing.assert_array_equal(got, np.array([[2.0**-142, 2.0**-143, 0, 2.0**-143]], np.float32))
    tiny = np.array([[2.0**-128, 2.0**-130, 3 * 2.0**-130]], np.float32)
    got = microscaling(tiny, element_dtype="fp4_e2m1")
    np.testing.assert_array_equal(got, np.array([[2.0**-128, 0, 2.0**-128]], np.float32))


def test_mxint8_by_hand() -> None:
    x = np.array([[1.0, 1.995, -1.995, 0.5 / 64, 1.5 / 64, -0.5 / 64, -1.5 / 64]])
    even = [1.0, 127 / 64, -2.0, 0, 2 / 64, 0, -2 / 64]
    up = [1.0, 127 / 64, -2.0, 1 / 64, 2 / 64, 0, -1 / 64]
    away = [1.0, 127 / 64, -2.0, 1 / 64, 2 / 64, -1 / 64, -2 / 64]
    for mode, want in enumerate((away, up, even)):
        np.testing.assert_array_equal(microscaling(x, rounding_mode=mode), np.array([want], np.float32))
    far = microscaling(np.array([[-3.4028234e38, 3.4028234e38]], np.float32))
    np.testing.assert_array_equal(far, np.array([[-127, 127]], np.float32) * np.float32(2.0**121))


def test_bfp16_by_hand() -> None:
    """100 has exponent 6: steps of 1, from -127 to 127. The ninth element is a block of its own."""
    x = np.array([[100.0, 0.5, 1.5, -0.5, -2.5, 127.7 - 64, 0.49, -0.0, 0.3]])
    even = [100.0, 0, 2, 0, -2, 64, 0, 0, 0.30078125]
    up = [100.0, 1, 2, 0, -2, 64, 0, 0, 0.30078125]
    away = [100.0, 1, 2, -1, -3, 64, 0, 0, 0.30078125]
    for mode, want in enumerate((away, up, even)):
        got = block_floating_point(x, rounding_mode=mode)
        np.testing.assert_array_equal(got, np.array([want], np.float32))
    assert np.signbit(block_floating_point(x)[0, 7])
    np.testing.assert_array_equal(block_floating_point([[127.7, -127.7]]), np.array([[127, -127]], np.float32))
    np.testing.assert_array_equal(block_floating_point([[np.nan, np.inf, 1.0]]), [[np.nan, np.inf, 1.0]])


def test_mx9_by_hand() -> None:
    """With the exponent of 100 steps are 1; a pair below 64 has steps of 1/2, however small it is."""
    x = np.array([[100.0, 1.26, 30.26, 1.26, 0.26, 0.24]])
    want = np.array([[100.0, 1.0, 30.5, 1.5, 0.5, 0.0]], np.float32)
    got = block_floating_point(x, bfp_method="to_bfp_prime", block_size=16, rounding_mode=2)
    np.testing.assert_array_equal(got, want)
    x[0, 5] = np.inf
    got = block_floating_point(x, bfp_method="to_bfp_prime", block_size=16)
    assert np.isnan(got).all()


def test_one_element_is_copied() -> None:
    for value in (np.float32(3.14159), np.array([3.14159], np.float32), np.array([[3.14159]], np.float32)):
        assert block_floating_point(value) == np.float32(3.14159)
        assert microscaling(value, element_dtype="fp4_e2m1") == np.float32(3.14159)


@pytest.mark.parametrize("name", sorted(BLOCK_TYPES))
def test_twice_is_once(name: str) -> None:
    """What a type holds it keeps, except where -2^m steps of a block need a larger exponent."""
    x = np.random.default_rng(9).standard_normal((50, 96)).astype(np.float32)
    once = BLOCK_TYPES[name].quantize_dequantize(x, 1)
    twice = BLOCK_TYPES[name].quantize_dequantize(once, 1)
    moved = (once != twice).any(axis=1).mean()
    assert moved <= (0.1 if name == "QMXINT8" else 0.0)


BAD: list[tuple[Any, dict[str, Any], str]] = [
    (block_floating_point, {"bfp_method": "to_bfb"}, "bfp_method is 'to_bfb'; it must be 'to_bfp' or 'to_bfp_prime'"),
    (block_floating_point, {"bit_width": 9}, "bit_width is 9; it must be an integer from 10 to 32"),
    (block_floating_point, {"block_size": 0}, "block_size is 0; it must be an integer of at least 1"),
    (block_floating_point, {"rounding_mode": 3}, "rounding_mode is 3; it must be an integer from 0 to 2"),
    (block_floating_point, {"axis": 2}, r"axis 2 is out of range for an input of shape \\[2, 3\\]"),
    (block_floating_point, {"convert_to_bfloat_before_bfp": 1}, "convert_to_bfloat_before_bfp is 1; it must be 0"),
    (block_floating_point, {"bfp_method": "to_bfp_prime", "sub_block_size": 3}, "sub_block_size is 3; it must divide"),
    (microscaling, {"element_dtype": "fp8"}, "element_dtype is 'fp8'; it must be one of 'int8', 'fp8_e5m2'"),
    (microscaling, {"axis": -3}, r"axis -3 is out of range"),
    (microscaling, {"block_size": -1}, "block_size is -1"),
]


@pytest.mark.parametrize(("function", "attributes", "message"), BAD, ids=[message[:40] for _, _, message in BAD])
def test_bad_attributes(function: Any, attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message.replace("\\\\", "\\")):
        function(np.ones((2, 3), np.float32), **attributes)
