"""Quantization in float32 as QuantizeLinear computes it: divide, round half to even, shift, saturate."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .positions import scale_of
from .qtypes import storage_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .qtypes import QType


def quantize(
    values: NDArray[Any], scale: NDArray[Any], zero_point: NDArray[Any], limits: tuple[int, int]
) -> NDArray[np.int64]:
    """clip(round_half_even(x / scale) + zero_point, *limits) in float32 division, as QuantizeLinear computes it.

    ``values`` [...] and codes have one shape; scale and zero point broadcast against it.
    """
    x = np.asarray(values, dtype=np.float32)
    low, high = limits
    with np.errstate(over="ignore"):  # what overflows saturates
        ratio = (x / np.asarray(scale, dtype=np.float32)).astype(np.float64)
    codes = np.rint(np.clip(ratio, low - zero_point, high - zero_point))
    return codes.astype(np.int64) + np.asarray(zero_point, dtype=np.int64)


def round_to_float(values: NDArray[Any], scale: NDArray[Any], kind: QType) -> NDArray[np.float32]:
    """The values of a float type nearest to x / scale, as QuantizeLinear computes them: what is too large saturates.

    ``values`` [...] and the result have one shape; the scale broadcasts against it.
    """
    with np.errstate(over="ignore"):
        ratio = np.asarray(values, dtype=np.float32) / np.asarray(scale, dtype=np.float32)
    return np.clip(ratio, kind.min, kind.max).astype(storage_dtype(kind)).astype(np.float32)


def dequantize(codes: NDArray[Any], scale: NDArray[Any], zero_point: NDArray[Any]) -> NDArray[np.float32]:
    """(q - zero_point) * scale, rounded once to float32; scale and zero point broadcast against the codes' shape."""
    difference = np.asarray(codes, dtype=np.int64) - np.asarray(zero_point, dtype=np.int64)
    return difference.astype(np.float32) * np.asarray(scale, dtype=np.float32)


def fake_quant(values: NDArray[Any], position: int, kind: QType, zero_point: int | None = None) -> NDArray[np.float32]:
    """``values`` as the device sees them at step 2^-position in the type ``kind`` (zero point: symmetric).

    The result has the shape of ``values``, which are in the unit of the tensor.
    """
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
