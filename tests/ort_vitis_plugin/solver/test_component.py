"""A few tensors and the bounds between them take the positions of least cost, far away or in another valley."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from itertools import pairwise

import pytest

from ort_vitis_plugin.errors import CalibrationError
from ort_vitis_plugin.plan import Bound, Position
from ort_vitis_plugin.solver import solve
from tests.ort_vitis_plugin.solver.bounds import CUT, X, Y, slope


def test_joint_moves_along_a_chain() -> None:
    names = [f"x{at}" for at in range(60)]
    start = dict.fromkeys(names, 0)
    bounds = [Bound(Position(a) - Position(b), high=0) for a, b in pairwise(names)]
    bounds.append(Bound(Position("x0"), low=2))
    costs = {name: slope(0, 1.0) for name in names}
    assert solve(start, costs, (), bounds).positions == dict.fromkeys(names, 2)
    stuck = solve(start, costs, {"x0"}, bounds)
    assert stuck.positions == start
    assert len(stuck.violations) == 1


@pytest.mark.parametrize("sign", [1, -1])
def test_a_large_part_follows_its_slopes_as_far_as_they_go(sign: int) -> None:
    """Beyond 64 groups no other valley is looked for, but nobody stops on a slope."""
    names = [f"x{at}" for at in range(70)]
    bounds = [Bound(Position(a) - Position(b), **({"high": 0} if sign > 0 else {"low": 0})) for a, b in pairwise(names)]
    bounds.append(Bound(Position("x0"), **({"low": 2} if sign > 0 else {"high": -2})))
    costs = {name: slope(sign * 30, 1.0) for name in names}
    assert solve(dict.fromkeys(names, 0), costs, (), bounds).positions == dict.fromkeys(names, sign * 30)


def test_the_other_valley_is_found() -> None:
    def two_valleys(position: int) -> float:
        return {5: 0.0, 12: 0.1}.get(position, 1.0)

    start = {"x": 5, "y": 20}
    bounds = [Bound(Y - X, high=10, prefer=X)]
    found = solve(start, {"x": two_valleys, "y": slope(20, 10)}, (), bounds).positions
    assert found == {"x": 12, "y": 20}


def test_far_away_limits_are_reached() -> None:
    bounds = [Bound(X, 0, 15, prefer=X), Bound(14 + X - Y, 0, 31, prefer=Y)]
    found = solve({"x": 90, "y": -60}, {"x": slope(90), "y": slope(-60)}, (), bounds).positions
    assert found == {"x": 15, "y": -2}


def test_steps_of_no_network_take_no_longer() -> None:
    """Whole tables would have 3.6e9 and 1.2e7 entries; what is found is the best nevertheless."""
    four = Bound(X + Y + Position("v") - Position("w"), 0, 16)
    start = {"x": 100, "y": 100, "v": 100, "w": -100}
    found = solve(start, {name: slope(at, 1.0) for name, at in start.items()}, (), [four])
    assert not found.violations
    assert sum(abs(found.positions[name] - at) for name, at in start.items()) == 400 - 16

    start = {"w": 100, "x": 100, "y": -52}
    squares = {name: lambda position, at=at: float((position - at) ** 2) for name, at in start.items()}
    found = solve(start, squares, (), [CUT])
    assert not found.violations
    assert sorted(abs(found.positions[name] - at) for name, at in start.items()) == [78, 79, 79]  # 252 - 16 in all


def test_errors_of_costs_come_through() -> None:
    def fails(position: int) -> float:
        raise ZeroDivisionError("no energy")

    with pytest.raises(ZeroDivisionError, match="no energy"):
        solve({"w": 20, "x": 5, "y": 2}, {"w": fails}, (), [CUT])
    with pytest.raises(CalibrationError, match=r"squared error of 'w' at position \d+ is nan"):
        solve({"w": 20, "x": 5, "y": 2}, {"w": lambda position: float("nan")}, (), [CUT])
