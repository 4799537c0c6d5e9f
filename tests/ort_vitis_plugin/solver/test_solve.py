"""Positions of least error within bounds: what stays, what moves, what is told."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise, product
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from ort_vitis_plugin.errors import CalibrationError
from ort_vitis_plugin.numerics.qtypes import host_qtype
from ort_vitis_plugin.plan import Bound, Expression, Plan, Position, Role, TensorPlan, largest, least
from ort_vitis_plugin.solver import adjust_plan, solve
from ort_vitis_plugin.solver.cost_tables import excess
from ort_vitis_plugin.solver.variable_elimination import LIMITS, Table, minimize

INT8 = host_qtype("QInt8")
B, W, X, Y, Z = map(Position, "bwxyz")
CUT = Bound(W + X - Y, 0, 16, prefer=W, rule="AdjustShiftCut", node="conv")


def slope(best: int, price: float = 1.0) -> Callable[[int], float]:
    """A tensor that pays ``price`` for each position away from its best one."""
    return lambda position: price * abs(position - best)


def equal(*names: str) -> list[Bound]:
    pairs = [(Position(name), Position(names[-1])) for name in names[:-1]]
    return [Bound(x - y, 0, 0, prefer=largest(x, y), rule="AlignConcat", node="concat") for x, y in pairs]


# --- what must not change --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "bounds"),
    [
        ({}, []),
        ({"w": 7, "x": 5, "y": 5}, []),
        ({"w": 7, "x": 5, "y": 5}, [CUT]),
        ({"w": 16, "x": 5, "y": 5}, [CUT]),
        ({"w": 40, "y": 5}, [CUT]),
        ({"w": 40, "x": 40, "y": 5}, [Bound(W + Position(None) - Y, 0, 16)]),
        ({"x": 3, "y": 3}, equal("x", "y")),
    ],
    ids=["nothing", "no bound", "holds", "at the limit", "x is float", "an unquantized term", "equal already"],
)
def test_what_keeps_its_bounds_stays(start: dict[str, int], bounds: list[Bound]) -> None:
    def never(position: int) -> float:
        raise AssertionError("a cost was asked for")

    before = dict(start)
    solution = solve(start, dict.fromkeys(start, never), (), bounds)
    assert solution.positions == before
    assert solution.positions is not start
    assert start == before
    assert not solution.violations


def test_a_tensor_that_no_violated_bound_touches_gains_nothing_by_moving() -> None:
    start = {"w": 20, "x": 5, "y": 2, "z": 0}
    costs = {"w": slope(20), "x": slope(5), "y": slope(2), "z": slope(3)}
    assert solve(start, costs, (), [CUT, Bound(Y - Z, -30, 30)]).positions["z"] == 0


# --- what must -------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("prices", "position"),
    [({}, 2), ({"x": 1, "y": 1, "z": 1}, 4), ({"x": 5, "y": 1, "z": 1}, 9)],
    ids=["free: the least", "the middle", "the dearest"],
)
def test_what_is_equal_moves_together(prices: dict[str, float], position: int) -> None:
    start = {"x": 9, "y": 4, "z": 2}
    costs = {name: slope(start[name], price) for name, price in prices.items()}
    assert set(solve(start, costs, (), equal("x", "y", "z")).positions.values()) == {position}


def test_a_fixed_tensor_decides_what_is_equal() -> None:
    start = {"x": 9, "y": 4, "z": 2}
    costs = {name: slope(best) for name, best in start.items()}
    assert solve(start, costs, {"x"}, equal("x", "y", "z")).positions == dict.fromkeys("xyz", 9)


# --- what cannot hold ------------------------------------------------------------------------------------------------


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


def test_one_contradiction_does_not_disturb_another_part() -> None:
    bounds = [Bound(X, 3, 3, rule="one", node="n"), Bound(X, 4, 4, rule="two", node="n"), CUT]
    solution = solve({"w": 20, "x": 0, "y": 0}, {"w": slope(20), "y": slope(0, 5)}, (), bounds)
    assert len(solution.violations) == 1
    assert not CUT.excess(solution.positions)


def test_errors_of_costs_come_through() -> None:
    def fails(position: int) -> float:
        raise ZeroDivisionError("no energy")

    with pytest.raises(ZeroDivisionError, match="no energy"):
        solve({"w": 20, "x": 5, "y": 2}, {"w": fails}, (), [CUT])
    with pytest.raises(CalibrationError, match=r"squared error of 'w' at position \d+ is nan"):
        solve({"w": 20, "x": 5, "y": 2}, {"w": lambda position: float("nan")}, (), [CUT])


# --- plans -----------------------------------------------------------------------------------------------------------


@dataclass
class Slope:
    """A curve whose error grows with each position; its zero point tells the position."""

    at: int
    price: float

    def best(self) -> int:
        return self.at

    def error(self, position: int) -> float:
        return self.price * abs(position - self.at)

    def zero_point(self, position: int) -> int:
        return position


def plan_of(**tensors: tuple[int, float]) -> Plan:
    graph = cast(Any, SimpleNamespace(device_output={}, outputs=(), consumers=lambda tensor: (), sorted=list))
    made = {}
    for name, (position, price) in tensors.items():
        made[name] = TensorPlan(name, Role.ACTIVATION, INT8, np.float32(1), np.int64(0), curve=Slope(position, price))
        made[name].move(position)
    return Plan(graph, made)


def test_a_plan_is_moved_and_the_moves_name_their_rules() -> None:
    plan = plan_of(w=(20, 0.02), x=(5, 0.03), y=(2, 0.01), z=(2, 0.01))
    plan.tensors["w"].fixed = True
    bounds = [CUT, *equal("z", "y")]
    moves, violations = adjust_plan(plan, bounds)
    assert not violations
    assert plan.current() == {"w": 20, "x": 5, "y": 9, "z": 9}
    assert plan.tensors["y"].zero_point == 9
    told = {(move.tensor, move.before, move.after, move.rules) for move in moves}
    assert told == {("y", 2, 9, ("AdjustShiftCut", "AlignConcat")), ("z", 2, 9, ("AlignConcat",))}


def test_a_group_pays_for_all_its_tensors_and_is_fixed_with_one() -> None:
    for prices, expected in (((2, 1, 2), {"w": 13}), ((2, 1, 0.5), {"x": -2})):
        plan = plan_of(w=(20, prices[0]), x=(5, prices[1]), y=(2, 9), z=(5, prices[2]))
        plan.share("z", "x")
        adjust_plan(plan, [CUT])
        assert plan.current() == {"w": 20, "x": 5, "y": 2} | expected
    plan = plan_of(w=(20, 2), x=(5, 1), y=(2, 9), z=(5, 0))
    plan.share("z", "x")
    plan.tensors["z"].fixed = True
    adjust_plan(plan, [CUT])
    assert plan.current() == {"w": 13, "x": 5, "y": 2}


# --- the parts -------------------------------------------------------------------------------------------------------


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
    ids=str,
)
def test_a_table_has_the_excess_of_each_combination(bound: Bound) -> None:
    span = range(-3, 4)
    axes = {name: np.reshape(span, [-1 if other == name else 1 for other in "wxy"]) for name in "wxy"}
    table = np.broadcast_to(excess(bound, axes), (7, 7, 7))
    for (i, w), (j, x), (k, y) in product(enumerate(span), repeat=3):
        assert table[i, j, k] == abs(bound.excess({"w": w, "x": x, "y": y}))


def dense_tables(rng: np.random.Generator, variables: int, size: int) -> list[Table]:
    scopes = [(a, b) for a in range(variables) for b in range(a + 1, variables)]
    return [Table(scope, np.stack([rng.random((size, size)), np.zeros((size, size))])) for scope in scopes]


def test_elimination_gives_the_least_sum() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        tables = dense_tables(rng, 4, 4)
        sums = {at: sum(table.at(at)[0] for table in tables) for at in product(range(4), repeat=4)}
        assert tuple(minimize([4] * 4, tables, [0] * 4)) == min(sums, key=lambda at: sums[at])


def test_equal_costs_are_decided_by_the_second_value() -> None:
    tables = [Table((0, 1), np.zeros((2, 5, 5)))]
    tables += [Table((at,), np.array([np.zeros(5), np.abs(np.arange(5.0) - want)])) for at, want in ((0, 3), (1, 2))]
    assert minimize([5, 5], tables, [0, 0]) == [3, 2]


def test_what_is_too_wide_for_one_table_only_improves() -> None:
    rng = np.random.default_rng(6)
    tables = dense_tables(rng, 14, 6)
    assert LIMITS[1] < 6**14
    known = [int(value) for value in rng.integers(0, 6, 14)]

    def total(values: list[int]) -> float:
        return float(sum(table.at(values)[0] for table in tables))

    found = minimize([6] * 14, tables, known)
    assert total(found) < total(known)
    for variable, value in product(range(14), range(6)):
        single = [*found[:variable], value, *found[variable + 1 :]]
        assert total(found) <= total(single) + 1e-9
