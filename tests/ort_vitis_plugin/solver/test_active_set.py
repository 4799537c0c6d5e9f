"""Only what a violated bound reaches is solved again; parts without a tensor in common do not meet."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest

from ort_vitis_plugin.plan import Bound
from ort_vitis_plugin.solver import solve
from ort_vitis_plugin.solver.active_set import equated
from tests.ort_vitis_plugin.solver.bounds import CUT, X, Y, Z, equal, slope


def test_a_tensor_that_no_violated_bound_touches_gains_nothing_by_moving() -> None:
    start = {"w": 20, "x": 5, "y": 2, "z": 0}
    costs = {"w": slope(20), "x": slope(5), "y": slope(2), "z": slope(3)}
    assert solve(start, costs, (), [CUT, Bound(Y - Z, -30, 30)]).positions["z"] == 0


@pytest.mark.parametrize(
    ("prices", "position"),
    [({}, 2), ({"x": 1, "y": 1, "z": 1}, 4), ({"x": 5, "y": 1, "z": 1}, 9)],
    ids=["free: the least", "the middle", "the dearest"],
)
def test_what_is_equal_moves_together(prices: dict[str, float], position: int) -> None:
    start = {"x": 9, "y": 4, "z": 2}
    costs = {name: slope(start[name], price) for name, price in prices.items()}
    assert set(solve(start, costs, (), equal("x", "y", "z")).positions.values()) == {position}


def test_one_contradiction_does_not_disturb_another_part() -> None:
    bounds = [Bound(X, 3, 3, rule="one", node="n"), Bound(X, 4, 4, rule="two", node="n"), CUT]
    solution = solve({"w": 20, "x": 0, "y": 0}, {"w": slope(20), "y": slope(0, 5)}, (), bounds)
    assert len(solution.violations) == 1
    assert not CUT.excess(solution.positions)


@pytest.mark.parametrize(
    ("bound", "names"),
    [
        (Bound(X - Y, 0, 0), ("x", "y")),
        (Bound(X + Y, 0, 0), None),
        (Bound(X - 3, 0, 0), None),
        (Bound(X, 0, 0), None),
        (Bound(X - Y, 0, 1), None),
        (Bound(X - Y, -1, 0), None),
        (Bound(X - Y, 0), None),
    ],
)
def test_a_bound_on_a_difference_of_nothing_makes_two_positions_equal(
    bound: Bound, names: tuple[str, str] | None
) -> None:
    assert equated(bound) == names
