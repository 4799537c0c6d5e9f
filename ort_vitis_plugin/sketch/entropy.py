"""How far a clipped, coarse histogram is from the fine one that it stands for: the Kullback-Leibler divergence."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .bins import Integers
    from .view import Floats


def divergences(counts: Integers, candidates: Integers, quantized_bins: int) -> Floats:
    """KL(p || q) for each half width: p is the clipped histogram with its tails in the end bins, q its coarse copy."""
    half = len(counts) // 2
    h = counts.astype(np.float64)
    total = h.sum()
    start, stop = half - candidates, half + candidates
    before = np.concatenate([[0.0], np.cumsum(h)])
    used = np.concatenate([[0.0], np.cumsum(h > 0)])
    with np.errstate(divide="ignore", invalid="ignore"):
        plogp = np.concatenate([[0.0], np.cumsum(np.where(h > 0, h * np.log(h), 0.0))])

    group = np.minimum(
        start[:, None] + np.arange(quantized_bins) * (2 * candidates // quantized_bins)[:, None], stop[:, None]
    )
    group = np.concatenate([group, stop[:, None]], axis=1)
    mass = np.diff(before[group], axis=1)
    bins = np.diff(used[group], axis=1)
    p_mass = mass.copy()
    left, right = before[start], total - before[stop]
    first, last = h[start], h[stop - 1]
    p_mass[:, 0] += left
    p_mass[:, -1] += right
    # A tail may fill an end bin that is empty by itself.
    bins[:, 0] += (first == 0) & (left > 0)
    bins[:, -1] += (last == 0) & (right > 0)

    def entropy(value: Floats) -> Floats:
        return np.where(value > 0, value * np.log(np.maximum(value, 1.0)), 0.0)

    own = plogp[stop] - plogp[start] - entropy(first) - entropy(last) + entropy(first + left) + entropy(last + right)
    # q is not scaled up by what was clipped: else a range that clips nearly everything into one bin would fit best.
    level = np.maximum(mass / np.maximum(bins, 1.0) / total, 1e-12)
    cross = np.where(p_mass > 0, p_mass * np.log(level), 0.0).sum(axis=1)
    found: Floats = (own - cross) / total - math.log(total)
    return found
