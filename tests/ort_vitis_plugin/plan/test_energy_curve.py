"""A weight's error counts by what it multiplies; where all counts alike, nothing changes."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ort_vitis_plugin.plan.energy_curve import EnergyCurve, least_error_shares, weighted_error
from ort_vitis_plugin.plan.error_curve import ErrorCurve
from ort_vitis_plugin.plugin.catalog import qtype
from ort_vitis_plugin.sketch import Sketch

if TYPE_CHECKING:
    from numpy.typing import NDArray

INT8, INT4 = qtype("QInt8"), qtype("QInt4")


def weights(seed: int, outliers: float = 1.0) -> NDArray[np.float32]:
    draw = np.random.default_rng(seed)
    w = draw.normal(size=(16, 8)).astype(np.float32)
    w[:, 3] *= outliers
    return w


def curve(w: NDArray[np.float32], importance: NDArray[np.float32], kind: Any = INT8) -> EnergyCurve:
    sketch = Sketch()
    sketch.add(w)
    return EnergyCurve(sketch, kind, kind.limits(), True, w, importance=np.broadcast_to(importance, w.shape).copy())


def brute(w: NDArray[np.float32], importance: NDArray[np.float32], position: int, kind: Any) -> float:
    step = 2.0**-position
    rounded = np.clip(np.rint(w / step), *kind.limits()) * step
    return float((importance * (w.astype(np.float64) - rounded) ** 2).sum())


@pytest.mark.parametrize("kind", [INT8, INT4], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_the_best_position_has_the_least_weighted_error(kind: Any, seed: int) -> None:
    w = weights(seed, outliers=50.0)
    importance = np.random.default_rng(seed + 9).uniform(0, 1, 8).astype(np.float32)
    importance[3] = 1e-6
    found = curve(w, importance, kind)
    errors = {position: brute(w, importance, position, kind) for position in range(-12, 24)}
    assert errors[found.best()] == min(errors.values())
    assert found.squared_error(found.best()) == pytest.approx(min(errors.values()), rel=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_where_all_counts_alike_it_is_the_error_of_the_weights(seed: int) -> None:
    w = weights(seed)
    sketch = Sketch()
    sketch.add(w)
    plain, alike = ErrorCurve(sketch, INT8, INT8.limits(), True, w), curve(w, np.ones(8, np.float32))
    assert alike.best() == plain.best()
    assert alike.error(alike.best()) == pytest.approx(plain.error(plain.best()), rel=1e-3)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("octaves", [-30, -3, 9, 30])
def test_weights_of_another_size_have_their_position_elsewhere(octaves: int, sign: int) -> None:
    w = sign * np.abs(weights(5, outliers=9.0))
    importance = np.random.default_rng(5).uniform(0, 1, 8).astype(np.float32)
    assert curve(w * np.float32(2.0**octaves), importance).best() == curve(w, importance).best() - octaves


def test_what_covers_the_values_covers_all_of_them() -> None:
    """NonOverflow keeps its promise whatever counts."""
    w, dead = weights(0, outliers=1000.0), np.ones(8, np.float32)
    dead[3] = 0
    assert curve(w, dead).covering() == curve(w, np.ones(8, np.float32)).covering()
    assert curve(w, dead).best() > curve(w, dead).covering()


def test_shares_of_a_step_never_cost_and_free_those_that_dead_weights_held() -> None:
    w = np.stack([weights(1).ravel(), weights(1, outliers=300.0).ravel()])
    importance = np.ones_like(w).reshape(2, 16, 8)
    importance[:, :, 3] = 0
    importance = importance.reshape(2, -1)
    steps = np.abs(w).max(axis=1) / 127
    shares = least_error_shares(w, importance, steps, -128, 127)
    before, after = (weighted_error(w, importance, step, -128, 127) for step in (steps, steps * shares))
    assert (after <= before).all()
    assert shares[1] < 0.05 < 0.5 < shares[0] <= 1
    assert after[1] < before[1] / 100
