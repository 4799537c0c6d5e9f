"""Sums over samples give the moments of all columns together, however far from zero they lie."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_finetune import moments
from ort_vitis_finetune.moments import MomentSums


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("far", [0.0, 1000.0])
@pytest.mark.parametrize("wide", [False, True])
def test_moments_are_those_of_all_columns(
    centred: bool, far: float, wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if wide:
        monkeypatch.setattr(moments, "WIDE", 2)
    random = np.random.default_rng(0)
    f = (random.normal(size=(2, 5, 90)) + far).astype(np.float32)
    q = (f + 0.1 * random.normal(size=f.shape)).astype(np.float32)
    sums = MomentSums(2, 5, centred=centred)
    for part in np.split(np.arange(90), [10, 11, 60]):
        sums.add(f[:, :, part], q[:, :, part])
    found = sums.result()
    exact_f, exact_q = f.astype(np.float64), q.astype(np.float64)
    mean_f, mean_q = exact_f.mean(axis=2), exact_q.mean(axis=2)
    if centred:
        exact_f -= mean_f[:, :, None]
        exact_q -= mean_q[:, :, None]
    turned = exact_q.transpose(0, 2, 1) / 90
    np.testing.assert_allclose(found.h, exact_q @ turned, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found.a, exact_f @ turned, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found.mean_f, mean_f, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.mean_q, mean_q, rtol=1e-6, atol=1e-6)
    assert (found.h.dtype == np.float32) == wide


def test_means_alone_hold_no_squares() -> None:
    sums = MomentSums(1, 10_000, centred=True, squares=False)
    sums.add(np.ones((1, 10_000, 3), np.float32), np.full((1, 10_000, 3), 2, np.float32))
    found = sums.result()
    assert found.h.size == 0
    assert found.mean_q[0, 0] == 2
    assert found.mean_f[0, 0] == 1
