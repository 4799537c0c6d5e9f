"""Channels are observed as numpy sees them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np

from ort_vitis_prepare.cle.channels import Observed


def test_energies_are_means_over_samples_and_limits_those_of_all() -> None:
    draw = np.random.default_rng(0)
    samples = [draw.normal(size=(2, 3, 4, 5)) for _ in range(3)]
    seen = Observed(np.zeros(3), np.full(3, -9.0), np.zeros(3))
    for sample in samples:
        seen.add(sample, len(samples))
    whole = np.concatenate(samples)
    np.testing.assert_allclose(seen.energy, np.square(whole).mean(axis=(0, 2, 3)))
    np.testing.assert_array_equal(seen.largest, whole.max(axis=(0, 2, 3)))
    np.testing.assert_array_equal(seen.peak, np.abs(whole).max(axis=(0, 2, 3)))
