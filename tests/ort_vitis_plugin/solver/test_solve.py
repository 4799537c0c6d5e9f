"""Positions of least error within bounds: what stays, what moves, what is told."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable

import pytest

from ort_vitis_plugin.plan import Bound, Position
from ort_vitis_plugin.solver import solve
from tests.ort_vitis_plugin.solver.bounds import CUT, X, Y, equal, slope


@pytest.mark.parametrize(
    ("prices", "moved"),
    [
        ({}, {"w": 13}),
        ({"w": 3, "x": 1, "y": 2}, {"x": -2}),
        ({"w": 3, "x": 2, "y": 1}, {"y": 9}),
        ({"w": 1, "x": 1, "y": 1}, {"w": 13}),
        ({"w": 1, "x": 1}, {"y": 9}),
        ({"x": 1, "y": 1}, {"w": 13}),
    ],
    ids=[
        "all free",
        "x cheapest",
        "y cheapest",
        "equal: the original's",
        "y is zero everywhere",
        "w is zero everywhere",
    ],
)
def test_the_cheapest_tensor_moves_the_least_way(prices: dict[str, float], moved: dict[str, int]) -> None:
    start = {"w": 20, "x": 5, "y": 2}
    costs = {name: slope(start[name], price) for name, price in prices.items()}
    assert solve(start, costs, (), [CUT]).positions == {**start, **moved}


def test_squares_are_shared_out() -> None:
    start = {"w": 20, "x": 5, "y": 3}

    def square(best: int) -> Callable[[int], float]:
        return lambda position: float((position - best) ** 2)

    found = solve(start, {name: square(best) for name, best in start.items()}, (), [CUT]).positions
    assert found == {"w": 18, "x": 3, "y": 5}


def test_a_fixed_tensor_decides_what_is_equal() -> None:
    start = {"x": 9, "y": 4, "z": 2}
    costs = {name: slope(best) for name, best in start.items()}
    assert solve(start, costs, {"x"}, equal("x", "y", "z")).positions == dict.fromkeys("xyz", 9)


def test_what_cannot_hold_is_told_with_node_and_number() -> None:
    solution = solve({"w": 20, "x": 5, "y": 2}, {}, {"w", "x", "y"}, [CUT])
    assert solution.positions == {"w": 20, "x": 5, "y": 2}
    assert solution.violations == ["AdjustShiftCut at conv: 0 <= pos(w) + pos(x) - pos(y) <= 16, is 23"]


def test_contradictions_have_the_least_excess() -> None:
    start = {"a": 5, "b": 9, "x": 0, "y": 0, "p": 5, "q": 9}
    tied = [Bound(Position(n) - X, 0, 0) for n in "ap"] + [Bound(Position(n) - Y, 0, 0) for n in "bq"]
    tied.append(Bound(X - Y, 0, 0, rule="AlignPool", node="pool"))
    solution = solve(start, {}, set("abpq"), tied)
    assert (solution.positions["x"], solution.positions["y"]) == (5, 9)
    assert solution.violations == ["AlignPool at pool: 0 <= pos(x) - pos(y) <= 0, is -4"]
