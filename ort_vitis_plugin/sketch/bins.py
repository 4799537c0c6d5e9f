"""The upper 17 bits of a float32 pattern name a bin; its 15 lower bits are summed there."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

LOW_BITS = 15
LOW_MASK = (1 << LOW_BITS) - 1
KEYS = 1 << (32 - LOW_BITS)
SIGN = KEYS >> 1
INFINITE = 0xFF << 8  # exponent 255: Inf and NaN
_SMALL = 1 << 14  # below this, sorting is cheaper than a table of all keys


@dataclass(frozen=True)
class Bins:
    """The touched bins, by ascending key: number of values, and sum of their low bits."""

    keys: Integers
    counts: Integers
    sums: Integers

    @staticmethod
    def empty() -> Bins:
        """No bin at all."""
        nothing = np.zeros(0, np.int64)
        return Bins(nothing, nothing, nothing)

    def __add__(self, other: Bins) -> Bins:
        if not len(self.keys):
            return other
        if not len(other.keys):
            return self
        both = np.concatenate([self.keys, other.keys])
        order = np.argsort(both, kind="stable")  # merges two sorted runs
        both = both[order]
        first = np.concatenate([[True], both[1:] != both[:-1]])
        at = np.empty_like(order)
        at[order] = np.cumsum(first) - 1
        counts, sums = (np.zeros(at.max() + 1, np.int64) for _ in range(2))
        for bins, where in ((self, at[: len(self.keys)]), (other, at[len(self.keys) :])):
            counts[where] += bins.counts
            sums[where] += bins.sums
        return Bins(both[first], counts, sums)

    def __getitem__(self, which: NDArray[np.bool_]) -> Bins:
        return Bins(self.keys[which], self.counts[which], self.sums[which])


def bins_of(patterns: NDArray[np.uint32]) -> Bins:
    """Bins of float32 patterns."""
    keys = (patterns >> LOW_BITS).astype(np.int64)
    low = (patterns & LOW_MASK).astype(np.float64)
    if len(patterns) < _SMALL:
        used, at = np.unique(keys, return_inverse=True)
        counts, sums = np.bincount(at, minlength=len(used)), np.bincount(at, low, len(used))
    else:
        table = np.bincount(keys, minlength=KEYS)
        used = np.flatnonzero(table)
        counts, sums = table[used], np.bincount(keys, low, KEYS)[used]
    return Bins(used.astype(np.int64), counts.astype(np.int64), sums.astype(np.int64))
