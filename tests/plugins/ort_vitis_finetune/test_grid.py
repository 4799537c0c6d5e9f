"""A grid rounds as DequantizeLinear(QuantizeLinear(x)) does, per tensor, channel and block."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ort_vitis_finetune.grid import Grid

W = np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)


def grid(scale: Any, zero: Any = 0, axis: int | None = None, block: int = 0, low: int = -8, high: int = 7) -> Grid:
    return Grid(np.asarray(scale, np.float32), np.asarray(zero, np.int64), low, high, axis, block)


@pytest.mark.parametrize(
    ("known", "steps"),
    [
        (grid(0.5), np.full((4, 6), 0.5)),
        (grid([0.1, 0.2, 0.3, 0.4], axis=0), np.repeat([[0.1], [0.2], [0.3], [0.4]], 6, 1)),
        (grid([[0.1, 0.2]] * 4, axis=1, block=4), np.repeat([[0.1] * 4 + [0.2] * 2], 4, 0)),
    ],
)
def test_every_element_knows_its_step(known: Grid, steps: np.ndarray[Any, Any]) -> None:
    np.testing.assert_allclose(known.steps(W.shape), steps, rtol=1e-6)
    codes = known.nearest(W)
    wanted = np.clip(np.rint(W / steps), -8, 7)
    np.testing.assert_array_equal(codes, wanted)
    np.testing.assert_allclose(known.values(codes), wanted * steps, rtol=1e-6)
    np.testing.assert_array_equal(known.nearest(known.rounded(W)), codes)


def test_zero_points_move_the_codes() -> None:
    known = grid(0.25, 3, low=0, high=15)
    np.testing.assert_array_equal(known.nearest(np.array([0.0, 0.25, -100.0, 100.0])), [3, 4, 0, 15])


def test_a_grid_that_covers_is_itself_and_one_that_clips_doubles() -> None:
    known = grid(0.25)
    assert known.covering(np.array([1.5, -2.0])) is known
    wider = known.covering(np.array([5.0, -2.0]))
    assert float(wider.scale) == 1.0
    assert wider.rounded(np.array([5.0]))[0] == 5.0
