"""The threshold of least divergence against the definition in plain loops."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.models.distributions import DISTRIBUTIONS, data
from tests.ort_vitis_plugin.sketch.truth import sketch_of


def divergence(counts: np.ndarray, half_width: int, quantized_bins: int) -> float:
    """The definition, one candidate, in plain loops."""
    half = len(counts) // 2
    inside = counts[half - half_width : half + half_width].astype(np.float64)
    p = inside.copy()
    p[0] += counts[: half - half_width].sum()
    p[-1] += counts[half + half_width :].sum()
    merge = len(inside) // quantized_bins
    q = np.zeros(len(p))
    for group in range(quantized_bins):
        at = slice(group * merge, (group + 1) * merge if group < quantized_bins - 1 else len(p))
        used = p[at] > 0
        if used.any():
            q[at][used] = inside[at].sum() / used.sum()
    p, q = p / p.sum(), np.maximum(q / p.sum(), 1e-12)
    return float(sum(a * math.log(a / b) for a, b in zip(p, q, strict=True) if a > 0))


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_entropy_range_has_the_least_divergence(name: str) -> None:
    sketch = sketch_of(data(name, 17, 20000))
    counts, edges = sketch.histogram(256, (-sketch.abs_max, sketch.abs_max))
    candidates = range(16, 129)
    truth = [divergence(counts, width, 32) for width in candidates]
    low, high = sketch.entropy_range(32, 256)
    chosen = [w for w in candidates if min(edges[128 + w], sketch.maximum) == high]
    assert min(truth[w - 16] for w in chosen) <= min(truth) + 1e-9
    assert sketch.minimum <= low <= high <= sketch.maximum


def test_entropy_clips_outliers() -> None:
    values = np.append(data("normal", 19, 100_000), np.float32(100))
    assert sketch_of(values).entropy_range()[1] < 20


def test_entropy_keeps_the_bulk_of_data_far_from_zero() -> None:
    values = data("laplace", 17, 20000)  # around 0.3
    low, high = sketch_of(values).entropy_range()
    assert np.mean((values >= low) & (values <= high)) > 0.99
