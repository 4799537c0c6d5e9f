"""Squares are summed exactly piece by piece, in one order whatever the machine."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from ort_vitis_plugin.sketch.squares import LANES, PIECE, sum_of_squares


@pytest.mark.parametrize("size", [0, 1, LANES, LANES + 1, PIECE, PIECE + 7])
def test_whole_numbers_are_exact(size: int) -> None:
    row = np.arange(size, dtype=np.float32) % 100
    assert Fraction(sum_of_squares(row), 2**298) == sum(int(value) ** 2 for value in row)


def test_the_least_float_counts_one() -> None:
    assert sum_of_squares(np.array([2.0**-149], np.float32)) == 1


def test_pieces_add_up() -> None:
    row = np.random.default_rng(0).standard_normal(3 * PIECE).astype(np.float32)
    assert sum_of_squares(row) == sum(sum_of_squares(part) for part in np.split(row, 3))
