"""Scale and zero point follow from a tensor's values, its type and its symmetry; here is how."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..numerics.positions import ZERO_POSITION, scale_of

if TYPE_CHECKING:
    from ..numerics.qtypes import QType

NARROWED = (8, 16)
_TINY = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True)
class Affine:
    """A scale and a zero point, scalar or per channel."""

    scale: NDArray[np.float32]
    zero_point: NDArray[np.int64]


def affine(low: float, high: float, kind: QType, limits: tuple[int, int], *, symmetric: bool) -> Affine:
    """The scale and zero point that map [low, high], widened to hold 0, onto ``limits``.

    Symmetric: scale = max(|low|, |high|) / min(-qmin, qmax), both relative to the zero point. Asymmetric:
    scale = (high - low) / (qmax - qmin), zero_point = round(qmin - low / scale).
    """
    qmin, qmax = limits
    low, high = min(low, 0.0), max(high, 0.0)
    if symmetric:
        zero = kind.symmetric_zero_point() if limits == kind.limits() or kind.is_signed else (qmax + 1) // 2
        reach = min(zero - qmin, qmax - zero)
        scale = max(-low, high) / reach
    else:
        scale = (high - low) / (qmax - qmin)
        zero = 0
    if not scale >= _TINY:
        scale = scale_of(ZERO_POSITION) if scale == 0 else _TINY
        zero = zero if symmetric else min(max(0, qmin), qmax)
    elif not symmetric:
        zero = min(max(round(qmin - low / scale), qmin), qmax)
    return Affine(np.asarray(scale, dtype=np.float32), np.asarray(zero, dtype=np.int64))


def in_blocks(array: NDArray[Any], kind: QType, axis: int, size: int, *, symmetric: bool) -> Affine:
    """One pair of parameters for every ``size`` neighbours along ``axis``, as onnxruntime chooses them.

    Both results have the shape of the matrix, with ceil(n / size) in place of the n entries of that axis.
    """
    size = min(size, max(array.shape[axis], 1))
    count = -(-array.shape[axis] // size)
    blocks = np.moveaxis(array.astype(np.float64), axis, 0)
    blocks = np.pad(blocks, ((0, count * size - len(blocks)), (0, 0))).reshape(count, size, -1)
    low, high = blocks.min(axis=1, initial=0.0), blocks.max(axis=1, initial=0.0)
    qmin, qmax = kind.limits()
    if symmetric and kind.is_signed and kind.bits in NARROWED:
        qmin = -qmax
    if symmetric:
        high = np.maximum(-low, high)
        low = -high
    scale = ((high - low) / (qmax - qmin)).astype(np.float32)
    scale = np.where(scale < _TINY, np.float32(1), scale)
    zero = np.full(scale.shape, kind.symmetric_zero_point()) if symmetric else np.rint(qmin - low / scale)
    zero = np.where(high == low, kind.symmetric_zero_point() if symmetric else max(0, qmin), zero)
    return Affine(np.moveaxis(scale, 0, axis), np.moveaxis(np.clip(zero, qmin, qmax), 0, axis).astype(np.int64))


def restricted(low: float, high: float, limits: tuple[int, int]) -> Affine:
    """[low, high] with a zero point on the lowest code, or in the middle where there are negative values."""
    qmin, qmax = limits
    low, high = min(low, 0.0), max(high, 0.0)
    zero = qmin if low >= 0 else (qmin + qmax + 1) // 2
    scale = max(-low / max(zero - qmin, 1), high / (qmax - zero))
    return Affine(np.asarray(scale if scale >= _TINY else 1.0, dtype=np.float32), np.asarray(zero, dtype=np.int64))


def linear(low: float, high: float, kind: QType) -> Affine:
    """scale = max(|low|, |high|) / max: the largest magnitude lands on the float type's largest; no zero point."""
    scale = max(abs(low), abs(high)) / kind.max
    if not scale >= _TINY:
        scale = 1.0 if scale == 0 else _TINY
    return Affine(np.asarray(scale, dtype=np.float32), np.asarray(0, dtype=np.int64))


def with_float_scale(low: float, high: float, kind: QType, limits: tuple[int, int], *, symmetric: bool) -> Affine:
    """The parameters for [low, high] as onnxruntime chooses them.

    Symmetric: [-a, a] fills all codes, scale = 2a / (qmax - qmin), of which int8 and int16 give up the lowest.
    """
    if not symmetric:
        return affine(low, high, kind, limits, symmetric=False)
    if kind.is_signed and kind.bits in NARROWED and limits == kind.limits():
        limits = -limits[1], limits[1]
    given = affine(low, high, kind, limits, symmetric=True)
    reach = max(-min(low, 0.0), max(high, 0.0))
    scale = 2 * reach / (limits[1] - limits[0])
    return Affine(np.asarray(scale, dtype=np.float32), given.zero_point) if scale >= _TINY else given


def rounded_up(given: Affine, low: float, limits: tuple[int, int], *, symmetric: bool) -> Affine:
    """The next power of two that still covers the range, for stated ranges and for formats that know no other."""
    scale = scale_of(-math.ceil(math.log2(float(given.scale))))
    zero = given.zero_point
    if not symmetric:
        zero = np.asarray(min(max(round(limits[0] - min(low, 0.0) / scale), limits[0]), limits[1]), dtype=np.int64)
    return Affine(np.asarray(scale, dtype=np.float32), zero)


def softmax_affine(kind: QType, *, symmetric: bool) -> Affine:
    """Values in [0, 1]: symmetric 2^-(b-1) around the middle, else 2^-b from the lowest code."""
    bits = kind.bits - 1 if symmetric else kind.bits
    zero = kind.symmetric_zero_point() if symmetric else kind.min
    return Affine(np.asarray(scale_of(bits), dtype=np.float32), np.asarray(zero, dtype=np.int64))


def widened(low: float, high: float, least: float | None) -> tuple[float, float]:
    """The range, stretched upwards to be no narrower than ``least`` (option MinimumRealRange)."""
    if least is not None and max(high, 0.0) - min(low, 0.0) < least:
        high = min(low, 0.0) + least
    return low, high
