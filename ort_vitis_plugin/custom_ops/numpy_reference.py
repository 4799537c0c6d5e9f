"""What the custom ops compute, in numpy: the specification of the C++ kernels and of the function bodies."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ort_vitis_plugin.errors import ModelError, UnsupportedError

Array = NDArray[Any]

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOAT16 = np.dtype(np.float16)
INTEGER_DTYPES = tuple(np.dtype(kind) for kind in (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32))
STORAGE_DTYPES = (*INTEGER_DTYPES, FLOAT16, BFLOAT16)

_LARGEST = {FLOAT16: np.float32(65504.0), BFLOAT16: np.float32(3.38953139e38)}
_QUIET_NAN = {FLOAT16: 0x7E00, BFLOAT16: 0x7FC0}


def _aligned(x: Array, scale: Array, zero_point: Array, axis: int) -> tuple[Array, Array]:
    """Scale and zero point with a shape that broadcasts against ``x``: scalars, or one value per index of ``axis``."""
    bad = ~(np.isfinite(scale) & (scale > 0))
    if bad.any():
        index = int(np.flatnonzero(bad)[0])
        raise ModelError(f"scale[{index}] is {scale.ravel()[index]}; every scale must be a positive finite number")
    if zero_point.size != scale.size:
        raise ModelError(
            f"zero_point has {zero_point.size} elements and scale has {scale.size}; both must have the same number"
        )
    if scale.size == 1:
        return scale.reshape(()), zero_point.reshape(())
    if not -x.ndim <= axis < x.ndim:
        raise ModelError(
            f"axis {axis} is out of range for an input of shape {list(x.shape)} with {scale.size} scales; "
            f"it must lie in [{-x.ndim}, {x.ndim - 1}]"
        )
    if scale.ndim != 1 or x.shape[axis] != scale.size:
        raise ModelError(
            f"scale has shape {list(scale.shape)} and the input has shape {list(x.shape)}; "
            f"scale must be a scalar, or 1-D with {x.shape[axis]} values for axis {axis}"
        )
    shape = [1] * x.ndim
    shape[axis] = -1
    return scale.reshape(shape), zero_point.reshape(shape)


def _parameters(x: Array, scale: ArrayLike, zero_point: ArrayLike | None, dtype: Any, axis: int) -> tuple[Array, Array]:
    scales = np.asarray(scale, np.float32)
    zeros = np.zeros(scales.shape, dtype) if zero_point is None else np.asarray(zero_point)
    if zeros.dtype not in STORAGE_DTYPES:
        names = ", ".join(str(storage) for storage in STORAGE_DTYPES)
        raise UnsupportedError(f"zero_point has the type {zeros.dtype}; it must be one of {names}")
    return _aligned(x, scales, zeros, axis)


def _clamped(ratio: Array, low: Array, high: Array) -> Array:
    """round(clamp(ratio)) in float64; NaN goes to ``low``. The bounds are integers, so the order does not matter."""
    wide = ratio.astype(np.float64)
    wide = np.where(wide > low, wide, low)
    return np.rint(np.minimum(wide, high))


def _rounded(value: Array, dtype: np.dtype[Any]) -> Array:
    """Nearest even in a 16-bit float; infinities and overflow saturate, NaN becomes a quiet NaN of the same sign."""
    limit = _LARGEST[dtype]
    result: Array = np.clip(value, -limit, limit).astype(dtype)
    bits = result.view(np.uint16)
    sign = (np.signbit(value) * 0x8000).astype(np.uint16)
    return np.where(np.isnan(value), sign | np.uint16(_QUIET_NAN[dtype]), bits).astype(np.uint16).view(dtype)


def quantize_linear(x: ArrayLike, scale: ArrayLike, zero_point: ArrayLike | None = None, axis: int = 1) -> Array:
    """saturate(round(x / scale) + zero_point) in the zero point's type (uint8 without one), rounding half to even."""
    values = np.asarray(x, np.float32)
    scales, zeros = _parameters(values, scale, zero_point, np.uint8, axis)
    with np.errstate(all="ignore"):
        ratio = np.asarray(values / scales, np.float32)
        if zeros.dtype in (FLOAT16, BFLOAT16):
            # Subtracting 0 - zp instead of adding zp keeps -0.0 where the zero point is zero.
            return _rounded(np.asarray(ratio - (np.float32(0) - zeros.astype(np.float32)), np.float32), zeros.dtype)
        limits, wide_zeros = np.iinfo(zeros.dtype), zeros.astype(np.float64)
        codes = _clamped(ratio, limits.min - wide_zeros, limits.max - wide_zeros) + wide_zeros
        return np.asarray(codes.astype(zeros.dtype))


def dequantize_linear(x: ArrayLike, scale: ArrayLike, zero_point: ArrayLike | None = None, axis: int = 1) -> Array:
    """(x - zero_point) * scale; the difference is rounded to float32 once, then multiplied.

    Raises:
        UnsupportedError: codes and zero point have different types.
    """
    codes = np.asarray(x)
    scales, zeros = _parameters(codes, scale, zero_point, codes.dtype, axis)
    if codes.dtype != zeros.dtype:
        raise UnsupportedError(
            f"the input has the type {codes.dtype} and the zero point {zeros.dtype}; they must agree"
        )
    with np.errstate(all="ignore"):
        if codes.dtype in (FLOAT16, BFLOAT16):
            # A zero point of -0.0 counts as 0.0: graph optimizers drop the subtraction of either.
            difference = codes.astype(np.float32) - (zeros.astype(np.float32) + np.float32(0))
        else:
            difference = (codes.astype(np.int64) - zeros.astype(np.int64)).astype(np.float32)
        return np.asarray(difference * scales, np.float32)


def fix_neuron(
    x: ArrayLike, scale: ArrayLike, zero_point: ArrayLike | None = None, bit_width: int = 8, axis: int = 1
) -> Array:
    """(clip(round(x / scale) + zero_point) - zero_point) * scale; codes are signed as the zero point's type is.

    Raises:
        UnsupportedError: the zero point is no integer.
        ModelError: the bit width is not from 1 to 32.
    """
    values = np.asarray(x, np.float32)
    scales, zeros = _parameters(values, scale, zero_point, np.int8, axis)
    if zeros.dtype not in INTEGER_DTYPES:
        raise UnsupportedError(f"zero_point has the type {zeros.dtype}; FixNeuron takes integers")
    if not 1 <= bit_width <= 32:
        raise ModelError(f"bit_width is {bit_width}; it must be an integer from 1 to 32")
    signed = np.iinfo(zeros.dtype).min < 0
    low, high = (-(2.0 ** (bit_width - 1)), 2.0 ** (bit_width - 1) - 1) if signed else (0.0, 2.0**bit_width - 1)
    wide_zeros = zeros.astype(np.float64)
    with np.errstate(all="ignore"):
        ratio = np.asarray(values / scales, np.float32)
        steps = _clamped(ratio, low - wide_zeros, high - wide_zeros) + 0.0  # -0.0 becomes 0.0, as through integer codes
        return np.asarray(steps.astype(np.float32) * scales, np.float32)
