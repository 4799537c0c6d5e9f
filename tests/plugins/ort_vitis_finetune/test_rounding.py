"""The rounding of a layer never becomes worse, and is the best there is where that can be counted."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ort_vitis_finetune.rounding import Lattice, Planes, Quadratic, damped, descend, solve

Array = np.ndarray[Any, Any]


def lattice(step: Any, low: int, high: int) -> Lattice:
    return Lattice(np.asarray(step, dtype=np.float64), np.asarray(low), np.asarray(high))


def moments(seed: int, groups: int, width: int, columns: int, noise: float = 0.1) -> tuple[Array, Array]:
    """H and A of correlated inputs, the quantized ones noisy."""
    random = np.random.default_rng(seed)
    f = random.normal(size=(groups, width, width)) @ random.normal(size=(groups, width, columns))
    q = f + noise * random.normal(size=f.shape)
    turned = q.transpose(0, 2, 1)
    return q @ turned / columns, f @ turned / columns


@st.composite
def problems(draw: Any, widest: int = 300) -> tuple[Array, Quadratic, Lattice]:
    seed, groups, outs = draw(st.integers(0, 10**6)), draw(st.integers(1, 3)), draw(st.integers(1, 4))
    width = draw(st.integers(1, widest))
    h, a = moments(seed, groups, width, draw(st.integers(1, 40)))
    dead = draw(st.integers(0, width))
    h[:, :dead], h[:, :, :dead], a[:, :dead], a[:, :, :dead] = 0, 0, 0, 0
    w = np.random.default_rng(seed + 1).normal(size=(groups, outs, width))
    high = draw(st.sampled_from([1, 7, 127]))
    step = draw(st.sampled_from([0.25, 2.0**-5, 0.037]))
    steps = step * np.exp2(np.random.default_rng(seed).integers(-2, 2, (1, outs, 1))) if draw(st.booleans()) else step
    return w, damped(w, h, a, draw(st.sampled_from([0.0, 0.01, 1.0]))), lattice(steps, -high - 1, high)


@given(problems())
@settings(max_examples=30, deadline=None)
def test_descent_never_raises_the_error(
    problem: tuple[Array, Quadratic, Lattice],
) -> None:
    w, quadratic, points = problem
    start = points.nearest(w)
    found = descend(quadratic, points, start)
    scale = abs(quadratic(start * points.step)) + 1e-9
    assert quadratic(found * points.step) <= quadratic(start * points.step) + 1e-9 * scale
    assert np.all((found >= points.low) & (found <= points.high))
    assert np.array_equal(found, np.rint(found))


@given(problems(widest=40))
@settings(max_examples=30, deadline=None)
def test_the_solution_is_never_worse_than_rounding_and_inside_the_limits(
    problem: tuple[Array, Quadratic, Lattice],
) -> None:
    w, quadratic, points = problem
    found = solve(quadratic, points, w)
    nearest = points.nearest(w) * points.step
    assert quadratic(found * points.step) <= quadratic(nearest) + 1e-9 * (abs(quadratic(nearest)) + 1e-9)
    assert np.all((found >= points.low) & (found <= points.high))


@given(problems(widest=12))
@settings(max_examples=30, deadline=None)
def test_descent_ends_where_no_single_step_lowers_the_error(problem: tuple[Array, Quadratic, Lattice]) -> None:
    w, quadratic, points = problem
    found = descend(quadratic, points, points.nearest(w), passes=100_000)
    step = np.broadcast_to(points.step, w.shape)
    best = quadratic(found * step)
    for place in np.ndindex(*w.shape):
        for move in (-1, 1):
            other = found.copy()
            other[place] += move
            if points.low <= other[place] <= points.high:
                assert quadratic(other * step) >= best - 1e-9 * (abs(best) + 1e-9)


def brute_force(quadratic: Quadratic, points: Lattice, width: int) -> float:
    codes = np.array(list(product(range(int(points.low), int(points.high) + 1), repeat=width)), dtype=np.float64)
    q = codes * points.step
    return float(np.min(np.sum(((q @ quadratic.h[0]) - 2 * quadratic.r[0]) * q, axis=1)))


@pytest.mark.parametrize("seed", range(10))
def test_equals_brute_force_where_inputs_do_not_correlate(seed: int) -> None:
    random = np.random.default_rng(seed)
    h = np.diag(random.uniform(0.1, 3, 4))[None]
    w = random.normal(size=(1, 1, 4))
    points = lattice(0.4, -3, 3)
    quadratic = damped(w, h, h, 0.0)
    assert quadratic(solve(quadratic, points, w) * points.step) == pytest.approx(brute_force(quadratic, points, 4))


@pytest.mark.parametrize(("spread", "beside"), [(0.5, 0), (1.5, 10)], ids=["no code clipped", "many clipped"])
def test_equals_brute_force_where_they_do_and_nothing_is_clipped(spread: float, beside: int) -> None:
    """Where codes are clipped, what the first columns should leave to the last is not foreseen: 1 in 10 differs."""
    points, found = lattice(0.4, -3, 3), 0
    for seed in range(100):
        h, a = moments(seed, 1, 4, 12)
        w = np.random.default_rng(seed).normal(size=(1, 1, 4)) * spread
        quadratic = damped(w, h, a, 0.01)
        ours, best = quadratic(solve(quadratic, points, w) * points.step), brute_force(quadratic, points, 4)
        assert ours >= best - 1e-9 * abs(best)
        least = -float(np.linalg.solve(quadratic.h[0], quadratic.r[0, 0]) @ quadratic.r[0, 0])
        found += (ours - least) > (1 + 1e-9) * (best - least)
    assert found <= beside


@given(st.integers(0, 10**6), st.integers(1, 40))
@settings(max_examples=40, deadline=None)
def test_nearest_plane_stays_within_its_bound(seed: int, width: int) -> None:
    """|e L|^2 <= sum of (step L_kk / 2)^2 where no code is clipped: Babai 1986."""
    h, a = moments(seed, 1, width, 2 * width + 2)
    w = np.random.default_rng(seed).normal(size=(1, 3, width))
    quadratic, points = damped(w, h, a, 0.01), lattice(2.0**-6, -(1 << 20), 1 << 20)
    codes = Planes(quadratic, points).nearest()
    ideal = np.linalg.solve(quadratic.h[0], quadratic.r[0].T).T
    order = np.argsort(np.diag(quadratic.h[0]), kind="stable")
    lower = np.linalg.cholesky(quadratic.h[0][np.ix_(order, order)])
    errors = np.sum(((ideal - codes[0] * points.step)[:, order] @ lower) ** 2, axis=1)
    assert np.all(errors <= np.sum((points.step * np.diag(lower) / 2) ** 2) * (1 + 1e-6) + 1e-12)


@pytest.mark.parametrize("width", [5, 128, 129, 300])
def test_blocks_change_nothing(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    h, a = moments(0, 2, width, 400)
    w = np.random.default_rng(1).normal(size=(2, 3, width))
    quadratic, points = damped(w, h, a, 0.1), lattice(0.25, -8, 7)
    found = solve(quadratic, points, w)
    monkeypatch.setattr("ort_vitis_finetune.rounding.BLOCK", 1000)
    whole = solve(quadratic, points, w)
    assert quadratic(found * points.step) == pytest.approx(quadratic(whole * points.step), rel=1e-9)


def test_better_than_rounding_by_far_at_four_bits() -> None:
    h, _ = moments(3, 1, 64, 500)
    w = np.random.default_rng(1).normal(size=(1, 16, 64))
    points = lattice(0.4, -8, 7)
    quadratic = damped(w, h, h, 0.01)
    offset = float(np.sum(quadratic.r * w))
    plain = quadratic(points.nearest(w) * points.step) + offset
    assert quadratic(solve(quadratic, points, w) * points.step) + offset < plain / 2


def test_singular_and_dead_inputs_are_rounded_plainly() -> None:
    w = np.random.default_rng(0).normal(size=(1, 3, 6))
    zero = np.zeros((1, 6, 6))
    points = lattice(0.1, -8, 7)
    np.testing.assert_array_equal(solve(damped(w, zero, zero, 0.01), points, w), points.nearest(w))
    h = np.zeros((1, 6, 6))
    h[0, 2:, 2:] = moments(0, 1, 4, 3)[0][0]
    dead = solve(damped(w, h, h, 0.01), points, w)[:, :, :2]
    np.testing.assert_array_equal(dead, points.nearest(w)[:, :, :2])


def test_two_runs_and_single_precision_agree() -> None:
    h, a = moments(5, 1, 200, 900)
    w = np.random.default_rng(1).normal(size=(1, 8, 200))
    points = lattice(2.0**-4, -128, 127)
    quadratic = damped(w, h, a, 0.1)
    first = solve(quadratic, points, w)
    np.testing.assert_array_equal(first, solve(quadratic, points, w))
    single = damped(w.astype(np.float32), h.astype(np.float32), a.astype(np.float32), 0.1)
    assert single.h.dtype == np.float32
    other = solve(single, points, w.astype(np.float32))
    offset = float(np.sum(np.linalg.solve(quadratic.h[0], quadratic.r[0].T).T * quadratic.r[0]))
    exact, rough = (quadratic(found * points.step) + offset for found in (first, other))
    assert rough <= 1.05 * exact
