"""A table holds what a bound gives, combination by combination."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from ort_vitis_plugin.plan import Bound, Expression, largest, least
from ort_vitis_plugin.solver.cost_tables import excess
from tests.ort_vitis_plugin.solver.bounds import CUT, W, X, Y, Z


class Product(Expression):
    """An expression that only knows numbers."""

    variables = ("x", "y")

    def value(self, positions: Any) -> int | None:
        return None if "x" not in positions or "y" not in positions else positions["x"] * positions["y"]


@pytest.mark.parametrize(
    "bound",
    [
        CUT,
        Bound(largest(W, X, Y) - least(W, X, Y), 0, 2),
        Bound(least(W, Z) - Y, -1, 1),
        Bound(W - X, low=least(X, Y) - 2, high=Y + 1),
        Bound(W - X, low=Y, high=X),
        Bound(Z - X, 0, 0),
        Bound(Product(), low=W, high=3),
        Bound(3 - X, high=W),
    ],
    ids=[
        "shift cut",
        "spread",
        "least",
        "moving limits",
        "limits by position",
        "equal",
        "numbers alone",
        "no lowest",
    ],
)
def test_a_table_has_the_excess_of_each_combination(bound: Bound) -> None:
    span = range(-3, 4)
    axes = {name: np.reshape(span, [-1 if other == name else 1 for other in "wxy"]) for name in "wxy"}
    table = np.broadcast_to(excess(bound, axes), (7, 7, 7))
    for (i, w), (j, x), (k, y) in product(enumerate(span), repeat=3):
        assert table[i, j, k] == abs(bound.excess({"w": w, "x": x, "y": y}))
