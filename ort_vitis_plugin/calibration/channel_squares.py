"""Squares of a tensor's channels, added up without rounding: the order of samples and workers does not matter.

A float32 is m * 2^e with |m| < 2^24; m goes into the 64-bit integer that counts in 2^(16 * (e // 16)).
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# 2^-149 is the least float32, 2^127 the largest power: 18 integers of which each takes 2^24 samples.
LOWEST, WIDTH, PLACES = -149, 16, 18
AT_ONCE = 32  # samples
_POWERS = np.ldexp(1.0, LOWEST + WIDTH * np.arange(PLACES))


@dataclass(frozen=True, order=True)
class Channels:
    """The channels of a tensor: their axis (-1: the last one), their number, and the tensor's rank (0: any)."""

    tensor: str
    axis: int
    size: int
    rank: int = 0


class ChannelSquares:
    """Exact sums of float32 numbers, one for each channel, and of how many values each one is made."""

    def __init__(self, places: NDArray[np.int64] | None = None, count: int = 0) -> None:
        self._places = places
        self._waiting: list[tuple[NDArray[np.float32], int]] = []  # samples that are not in the integers yet
        self._count = count

    def add(self, sums: NDArray[Any], count: int) -> None:
        """Sums of squares [C] of ``count`` values for each channel; what is not finite is left out."""
        row = np.array(sums, np.float32).ravel()
        if not count or not self._fits(row.size):
            return
        self._waiting.append((row, count))
        if len(self._waiting) == AT_ONCE:
            self._fold()

    def merge(self, other: ChannelSquares) -> None:
        """Take in the sums of other samples."""
        other._fold()
        self._fold()
        if other._places is None or not self._fits(len(other._places)):
            return
        self._places = other._places.copy() if self._places is None else self._places + other._places
        self._count += other._count

    @property
    def count(self) -> int:
        """How many values each sum is made of."""
        self._fold()
        return self._count

    @property
    def places(self) -> NDArray[np.int64]:
        """The integers [C, 18] of which the sums are made."""
        self._fold()
        return np.zeros((0, PLACES), np.int64) if self._places is None else self._places

    def mean(self) -> NDArray[np.float64]:
        """Mean square of each channel [C]; empty where nothing was seen."""
        total: NDArray[np.float64] = (self.places * _POWERS).sum(axis=1)
        return total / max(self._count, 1)

    def _fits(self, size: int) -> bool:
        """Whether there are as many channels as before; where the sample decides their number, they are none."""
        known = self._waiting[0][0].size if self._waiting else size if self._places is None else len(self._places)
        return known == size

    def _fold(self) -> None:
        """Put waiting sums into the integers, many at once."""
        finite = [(row, count) for row, count in self._waiting if np.isfinite(row).all()]
        self._waiting = []
        if not finite:
            return
        sums = np.stack([row for row, _ in finite])
        self._count += sum(count for _, count in finite)
        mantissa, exponent = np.frexp(sums)
        whole = np.ldexp(mantissa.astype(np.float64), 24).astype(np.int64)
        lowest = exponent.astype(np.int64) - 24
        under = np.maximum(LOWEST - lowest, 0)  # of subnormal numbers, whose last bits are 0
        whole, lowest = whole >> under, lowest + under
        place, shift = np.divmod(lowest - LOWEST, WIDTH)
        fresh = np.zeros((*sums.shape, PLACES), np.int64)
        np.put_along_axis(fresh, place[..., None], (whole << shift)[..., None], axis=2)
        total = fresh.sum(axis=0)
        self._places = total if self._places is None else self._places + total
