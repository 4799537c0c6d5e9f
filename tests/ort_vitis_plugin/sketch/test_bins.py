"""Bins of two arrays add up to the bins of both."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_plugin.sketch.bins import LOW_BITS, LOW_MASK, Bins, bins_of


def patterns(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(count).astype(np.float32).view(np.uint32)


@pytest.mark.parametrize("count", [5, 1 << 15])
def test_a_bin_counts_and_sums_the_low_bits(count: int) -> None:
    """Below and above the size at which sorting gives way to a table."""
    row = patterns(count, 0)
    bins = bins_of(row)
    assert bins.counts.sum() == count
    assert bins.sums.sum() == (row & LOW_MASK).astype(np.int64).sum()
    np.testing.assert_array_equal(bins.keys, np.unique(row >> LOW_BITS))


def test_bins_add() -> None:
    one, other = patterns(100, 1), patterns(200, 2)
    both, together = bins_of(one) + bins_of(other), bins_of(np.concatenate([one, other]))
    for name in ("keys", "counts", "sums"):
        np.testing.assert_array_equal(getattr(both, name), getattr(together, name))


def test_nothing_adds_nothing() -> None:
    bins = bins_of(patterns(3, 3))
    assert bins + Bins.empty() is bins
    assert Bins.empty() + bins is bins
