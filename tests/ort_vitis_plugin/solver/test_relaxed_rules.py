"""A rule gives way only where it would clip a tensor to ruin, and nothing but that rule does."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable

import pytest

from ort_vitis_plugin.plan import Bound, Position
from ort_vitis_plugin.solver.relaxed_rules import in_the_way

Cost = Callable[[int], float]


def clipped(best: int) -> Cost:
    """Rounding below the best position, clipping above it: each bit loses half of what is left."""
    return lambda position: 1 - 2.0 ** (best - position) if position > best else 4.0 ** (best - position - 8)


def joins(node: str, *names: str, soft: bool = True) -> list[Bound]:
    y = Position(names[-1])
    return [Bound(Position(name) - y, 0, 0, soft=soft, rule="join", node=node) for name in names[:-1]]


def asked(start: dict[str, int], found: dict[str, int], *bounds: Bound) -> set[str]:
    costs = {name: clipped(position) for name, position in start.items()}
    return {node for _, node in in_the_way(start, found, costs, bounds)}


START = {"box": -2, "score": 11, "y": -2}


def test_nothing_gives_way_where_nothing_is_clipped() -> None:
    assert not asked(START, START, *joins("concat", "box", "score", "y"))
    rounded_away = dict.fromkeys(START, -2)
    assert not asked(START, rounded_away, *joins("concat", "box", "score", "y"))


@pytest.mark.parametrize(("bits", "ruins"), [(0, False), (1, True), (9, True)])
def test_clipping_that_loses_half_of_the_energy_is_ruin(bits: int, ruins: bool) -> None:
    found = dict.fromkeys(START, -2 + bits)
    assert bool(asked(START, found, *joins("concat", "box", "score", "y"))) is ruins


@pytest.mark.parametrize(
    ("before", "after", "ruins"),
    [(7e-5, 0.086, True), (7e-5, 0.0095, False), (2e-3, 0.015, False), (1e-3, 0.011, True)],
)
def test_ruin_is_less_than_twenty_decibels_and_ten_lost(before: float, after: float, ruins: bool) -> None:
    costs = {name: lambda position: after if position > -2 else before for name in START}
    found = dict.fromkeys(START, -1)
    assert bool(in_the_way(START, found, costs, joins("concat", "box", "score", "y"))) is ruins


def test_what_must_hold_never_gives_way() -> None:
    found = dict.fromkeys(START, 7)
    assert not asked(START, found, *joins("pool", "box", "score", "y", soft=False))


def test_of_joins_in_a_chain_the_farthest_gives_way() -> None:
    start = {"a": 3, "b": 4, "ab": 3, "score": 11, "y": 3}
    found = dict.fromkeys(start, 7)
    bounds = joins("near", "a", "b", "ab") + joins("far", "ab", "score", "y")
    assert asked(start, found, *bounds) == {"far"}
