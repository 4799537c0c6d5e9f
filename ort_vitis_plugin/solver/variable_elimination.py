"""Least sum of tables over few shared variables, exactly, by eliminating one variable after the other.

The variable with the fewest neighbours goes first: the tables that mention it are added up, its best value is noted for
every combination of the neighbours' values, and a table over the neighbours takes their place. Networks are long and
thin, so the tables stay small and the time is linear. Where a table would grow too large, a variable is held at its
known value and set free in the next pass.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

Floats = NDArray[np.float64]

# Choices: tests/ort_vitis_plugin/solver/test_solve.py compares with an exhaustive search, bench_solver.py times them.
LIMITS = 1 << 14, 1 << 20  # entries of one table
ENTRIES = 1 << 24  # of all tables in one pass
PASSES = 6, 60  # in a large part, in a small one
PATIENCE = 3  # passes without any gain
_SAME = 1 + 1e-12  # sums of the same numbers in another order


@dataclass(frozen=True)
class Table:
    """values[0] is the cost, values[1] decides between equal costs; then one axis per variable, ascending."""

    scope: tuple[int, ...]
    values: Floats

    def spread(self, scope: tuple[int, ...]) -> Floats:
        """The values, with an axis of length 1 for each variable of ``scope`` that is not here."""
        own = iter(self.values.shape[1:])
        mine = set(self.scope)
        return self.values.reshape(2, *(next(own) if variable in mine else 1 for variable in scope))

    def held(self, variable: int, value: int) -> Table:
        """The table with one variable at a fixed value."""
        axis = self.scope.index(variable)
        return Table(self.scope[:axis] + self.scope[axis + 1 :], np.asarray(self.values.take(value, axis=axis + 1)))

    def at(self, values: Sequence[int]) -> Floats:
        """Cost and tie-breaker of one assignment."""
        here = tuple(values[variable] for variable in self.scope)
        return np.array([self.values[0][here], self.values[1][here]])


def minimize(sizes: Sequence[int], tables: Sequence[Table], known: Sequence[int]) -> list[int]:
    """A value below ``sizes[v]`` for each variable v, of least total cost; never worse than ``known``."""
    best = list(known)
    turns: Counter[int] = Counter()
    share = ENTRIES // max(len(sizes), 1)
    limit, passes = min(max(share, LIMITS[0]), LIMITS[1]), min(max(share >> 12, PASSES[0]), PASSES[1])
    idle = 0
    for _ in range(passes):
        elimination = _Elimination(sizes, tables, limit)
        held = elimination.run(best, turns)
        if not held:
            return elimination.values
        turns.update(held)
        idle += 1
        if _total(tables, elimination.values) < _total(tables, best):
            best, idle = elimination.values, 0
        if idle == PATIENCE:
            break
    return best


def _total(tables: Sequence[Table], values: Sequence[int]) -> tuple[float, float]:
    cost, tie = np.sum([table.at(values) for table in tables], axis=0) if tables else (0.0, 0.0)
    return float(cost), float(tie)


class _Elimination:
    """One pass over all variables."""

    def __init__(self, sizes: Sequence[int], tables: Sequence[Table], limit: int) -> None:
        self.sizes, self.limit = sizes, limit
        self.tables: list[dict[int, Table]] = [{} for _ in sizes]
        self.near: list[set[int]] = [set() for _ in sizes]
        self.values = [0] * len(sizes)
        self.count = 0
        for table in tables:
            self.add(table)

    def add(self, table: Table) -> None:
        self.count += 1
        for variable in table.scope:
            self.tables[variable][self.count] = table
            self.near[variable].update(table.scope)

    def remove(self, variable: int) -> list[Table]:
        """Take a variable and its tables out."""
        taken = self.tables[variable]
        for key, table in taken.items():
            for other in table.scope:
                if other != variable:
                    del self.tables[other][key]
        for other in self.near[variable]:
            if other != variable:
                self.near[other].discard(variable)
        self.tables[variable] = {}
        return list(taken.values())

    def run(self, known: Sequence[int], turns: Counter[int]) -> list[int]:
        """Give every variable its best value; returns those that were held at their ``known`` value instead."""
        queue = [(len(near), variable) for variable, near in enumerate(self.near)]
        heapq.heapify(queue)
        done = [False] * len(self.sizes)
        held: list[int] = []
        chosen: list[tuple[int, tuple[int, ...], NDArray[np.intp]]] = []
        while queue:
            degree, variable = heapq.heappop(queue)
            near = self.near[variable]
            if done[variable] or degree != len(near):
                continue
            scope = tuple(sorted(near | {variable}))
            if prod(self.sizes[other] for other in scope) > self.limit and len(scope) > 1:
                victim = min(scope, key=lambda other: (turns[other], -len(self.near[other]), other))
                touched = self.near[victim] | {variable}
                self.hold(victim, known[victim])
                held.append(victim)
                done[victim] = True
            else:
                touched = near
                chosen.append((variable, *self.eliminate(variable, scope)))
                done[variable] = True
            for other in touched:
                if not done[other]:
                    heapq.heappush(queue, (len(self.near[other]), other))
        for variable, scope, choice in reversed(chosen):
            self.values[variable] = int(choice[tuple(self.values[other] for other in scope)])
        return held

    def hold(self, variable: int, value: int) -> None:
        self.values[variable] = value
        for table in self.remove(variable):
            if len(table.scope) > 1:
                self.add(table.held(variable, value))

    def eliminate(self, variable: int, scope: tuple[int, ...]) -> tuple[tuple[int, ...], NDArray[np.intp]]:
        """The best value for each combination of the other variables in ``scope``, whose table is put in place."""
        joint = np.zeros((2, *(self.sizes[other] for other in scope)))
        for table in self.remove(variable):
            joint += table.spread(scope)
        axis = scope.index(variable)
        cost, tie = joint
        equal = cost <= cost.min(axis=axis, keepdims=True) * _SAME
        choice = np.where(equal, tie, np.inf).argmin(axis=axis)
        rest = scope[:axis] + scope[axis + 1 :]
        if rest:
            at = np.expand_dims(choice, (0, axis + 1))
            self.add(Table(rest, np.take_along_axis(joint, at, axis=axis + 1).squeeze(axis + 1)))
        return rest, choice
