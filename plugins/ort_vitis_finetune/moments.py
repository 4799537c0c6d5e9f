"""What rounding a layer needs to know of its samples: second moments of its input, float and quantized.

    H = E[x_q x_q^T],  A = E[x_f x_q^T],  E[x_q],  E[x_f]      (per group; K x K numbers however many samples)

Products are made in float32, one sample at a time, and added in float64; in float32 too where K is large.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# From this K on, H and A are kept in float32: two float64 matrices of K = 4608 take 340 MB.
WIDE = 1500


@dataclass(frozen=True)
class Moments:
    """H and A [group, K, K] about the means (where ``centred``), and the means [group, K]."""

    h: NDArray[np.floating]
    a: NDArray[np.floating]
    mean_q: NDArray[np.float64]
    mean_f: NDArray[np.float64]
    centred: bool
    count: int


class MomentSums:
    """Adds columns up; ``centred`` where a bias can carry the mean. Without ``squares`` only means are kept."""

    def __init__(self, groups: int, width: int, *, centred: bool, squares: bool = True) -> None:
        kind = np.float32 if width > WIDE else np.float64
        side = width if squares else 0
        self._h: NDArray[np.floating] = np.zeros((groups, side, side), kind)
        self._a: NDArray[np.floating] = np.zeros((groups, side, side), kind)
        self._sum_q = np.zeros((groups, width))
        self._sum_f = np.zeros((groups, width))
        self._centred = centred
        # Columns are taken from the first sample's mean: far from zero, float32 would lose the spread.
        self._shift: NDArray[np.float32] | None = None
        self.count = 0

    def add(self, x_f: NDArray[np.float32], x_q: NDArray[np.float32]) -> None:
        """Columns [group, K, column] of one sample, float and quantized, at the same positions."""
        if self._shift is None:
            self._shift = x_q.mean(axis=2, keepdims=True, dtype=np.float64).astype(np.float32)
            if not self._centred:
                self._shift[:] = 0
        f, q = x_f - self._shift, x_q - self._shift
        if self._h.size:
            turned = q.transpose(0, 2, 1)
            self._h += q @ turned
            self._a += f @ turned
        self._sum_q += q.sum(axis=2, dtype=np.float64)
        self._sum_f += f.sum(axis=2, dtype=np.float64)
        self.count += x_q.shape[2]

    def result(self) -> Moments:
        """The moments so far."""
        count = max(self.count, 1)
        mean_q, mean_f = self._sum_q / count, self._sum_f / count
        h, a = self._h / count, self._a / count
        if self._centred and h.size:
            h -= (mean_q[:, :, None] * mean_q[:, None, :]).astype(h.dtype)
            a -= (mean_f[:, :, None] * mean_q[:, None, :]).astype(a.dtype)
        shift = np.zeros((1, 1)) if self._shift is None else self._shift[:, :, 0].astype(np.float64)
        return Moments(h, a, mean_q + shift, mean_f + shift, self._centred, self.count)
