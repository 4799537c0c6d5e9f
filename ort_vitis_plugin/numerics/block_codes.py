"""Round to nearest in blocks: w ~ s (q - z), with s and z for each block of neighbours along one axis."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .qtypes import QType

# Parts of the range of the values that scales of least error are looked for among.
SHRUNK = np.linspace(1.0, 0.5, 41)
_TINY = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True)
class BlockCodes:
    """``codes`` of the shape of the values; ``scale`` and ``zero_point`` with the number of blocks along the axis."""

    codes: NDArray[np.int64]
    scale: NDArray[np.float32]
    zero_point: NDArray[np.int64]


def block_codes(
    values: NDArray[Any], kind: QType, *, axis: int, block: int, symmetric: bool, least_error: bool
) -> BlockCodes:
    """Codes of an integer type for an array of any rank, in blocks along ``axis``; the last block may be shorter.

    Symmetric: s = max |w| / qmax, z = 0 (the middle for unsigned types); else s = (max - min) / (qmax - qmin) over a
    range that holds 0. ``least_error``: of the ranges shrunk to 50 % at most, that of least squared error.
    """
    lines = np.moveaxis(np.asarray(values, np.float32), axis, -1)
    length = lines.shape[-1]
    count = -(-length // block)
    filled = np.pad(lines, [(0, 0)] * (lines.ndim - 1) + [(0, count * block - length)])
    blocks = filled.reshape(*lines.shape[:-1], count, block)
    best = _round(blocks, kind, 1.0, symmetric=symmetric)
    if least_error:
        error = _error(blocks, *best)
        for part in SHRUNK[1:]:
            other = _round(blocks, kind, float(part), symmetric=symmetric)
            other_error = _error(blocks, *other)
            wins = other_error < error
            error = np.where(wins, other_error, error)
            best = (
                np.where(wins[..., None], other[0], best[0]),
                np.where(wins, other[1], best[1]),
                np.where(wins, other[2], best[2]),
            )
    codes, scale, zero = best
    flat = codes.reshape(*lines.shape[:-1], count * block)[..., :length]
    return BlockCodes(np.moveaxis(flat, -1, axis), np.moveaxis(scale, -1, axis), np.moveaxis(zero, -1, axis))


Found = tuple["NDArray[np.int64]", "NDArray[np.float32]", "NDArray[np.int64]"]


def _round(blocks: NDArray[np.float32], kind: QType, part: float, *, symmetric: bool) -> Found:
    low = np.minimum(blocks.min(-1), 0.0) * part
    high = np.maximum(blocks.max(-1), 0.0) * part
    middle = kind.symmetric_zero_point()
    scale = np.maximum(-low, high) / (kind.max - middle) if symmetric else (high - low) / (kind.max - kind.min)
    scale = np.where(scale < _TINY, 1.0, scale).astype(np.float32)
    zero = np.full(scale.shape, middle, np.int64)
    if not symmetric:
        zero = np.clip(np.rint(kind.min - low / scale), kind.min, kind.max).astype(np.int64)
    codes = np.rint(blocks / scale[..., None]) + zero[..., None]
    return np.clip(codes, kind.min, kind.max).astype(np.int64), scale, zero


def _error(
    blocks: NDArray[np.float32], codes: NDArray[np.int64], scale: NDArray[np.float32], zero: NDArray[np.int64]
) -> NDArray[np.float64]:
    rounded = (codes - zero[..., None]) * scale[..., None].astype(np.float64)
    return np.asarray(np.sum((blocks - rounded) ** 2, axis=-1))
