"""Positions of least cost within bounds: what a violated bound touches is solved exactly, the rest stays.

Only violated bounds are looked at first. If the solution breaks another bound, that one and its surroundings, doubled
each time, join. As long as the others are at their best, leaving bounds out can only lower the cost, so a solution that
breaks none of them is the best one of all.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from ..errors import CalibrationError
from ..numerics import MAX_POSITION, MIN_POSITION
from ..plan import Bound, Combination, Position
from .elimination import Floats, Table, minimize
from .original import sequential_moves
from .tables import Integers, excess

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

MARGIN = 2  # positions that are tried beyond those that satisfy a bound at once
REACH = 12  # how far from there a small part is searched for other valleys of its curves
SMALL = 64


class Unions:
    """Disjoint sets of names."""

    def __init__(self) -> None:
        self.parent: dict[str, str] = {}

    def find(self, name: str) -> str:
        root = name
        while (above := self.parent.get(root, root)) != root:
            root = above
        while name != root:
            self.parent[name], name = root, self.parent.get(name, name)
        return root

    def join(self, names: Iterable[str]) -> None:
        first, *others = map(self.find, names)
        for other in others:
            self.parent[other] = first


class Costs:
    """Each tensor's cost per position, asked for once. One that no violated bound touches gains nothing by moving."""

    def __init__(self, costs: Mapping[str, Callable[[int], float]], start: Mapping[str, int]) -> None:
        self.costs, self.start = costs, start
        self.touched: set[str] = set()
        self.known: dict[tuple[str, int], float] = {}

    def of(self, name: str, position: int) -> float:
        if name not in self.costs:
            return 0.0
        value = self._ask(name, position)
        return value if name in self.touched else max(value, self._ask(name, self.start[name]))

    def _ask(self, name: str, position: int) -> float:
        if (name, position) not in self.known:
            value = float(self.costs[name](position))
            if not np.isfinite(value):
                raise CalibrationError(f"the squared error of {name!r} at position {position} is {value}")
            self.known[name, position] = value
        return self.known[name, position]


def equated(bound: Bound) -> tuple[str, str] | None:
    """The two tensors whose positions ``bound`` makes equal."""
    term = bound.expression
    if bound.low != 0 or bound.high != 0 or not isinstance(term, Combination) or term.sign != -1:
        return None
    left, right = term.left, term.right
    if not isinstance(left, Position) or not isinstance(right, Position) or left.name is None or right.name is None:
        return None
    return left.name, right.name


class Search:
    """The state of one call of ``solve``."""

    def __init__(
        self,
        start: Mapping[str, int],
        costs: Mapping[str, Callable[[int], float]],
        fixed: Collection[str],
        bounds: Sequence[Bound],
    ) -> None:
        self.start, self.bounds = start, bounds
        self.positions = dict(start)
        self.hint = dict(start)
        self.fixed = frozenset(fixed)
        self.free = [tuple(v for v in bound.variables if v in start and v not in self.fixed) for bound in bounds]
        self.costs = Costs(costs, start)
        self.touching: dict[str, list[int]] = defaultdict(list)
        self.equal = Unions()
        self.equalities: set[int] = set()
        for index, names in enumerate(self.free):
            for name in names:
                self.touching[name].append(index)
            pair = equated(bounds[index])
            if pair is not None and len(names) == 2:
                self.equal.join(pair)
                self.equalities.add(index)
        self.members: dict[str, list[str]] = defaultdict(list)
        for name in self.touching:
            self.members[self.equal.find(name)].append(name)

    def run(self) -> dict[str, int]:
        """The positions of all tensors."""
        self.hint, active = sequential_moves(self.start, self.fixed, self.bounds)
        for group in self.members.values():
            self.hint.update(dict.fromkeys(group, min(self.hint[name] for name in group)))
        active = {index for index in active if self.free[index]}
        self.costs.touched = {name for index in active for name in self.free[index]}
        broken, solved, radius = active, set[frozenset[int]](), 1
        while broken:
            for part in self.parts(active):
                if part not in solved:
                    solved.add(part)
                    self.solve_part(part)
            broken = {
                index
                for index, bound in enumerate(self.bounds)
                if index not in active and self.free[index] and bound.excess(self.positions)
            }
            active = active | self.around(broken, radius)
            radius *= 2
        return self.positions

    def reach(self, name: str) -> Iterator[int]:
        """Where a tensor is, where the original would move it, and where it satisfies a violated bound alone."""
        yield self.start[name]
        yield self.hint[name]
        for index in self.touching[name]:
            excess = self.bounds[index].excess(self.start)
            yield self.start[name] + excess
            yield self.start[name] - excess

    def around(self, indexes: set[int], radius: int) -> set[int]:
        """These bounds and those that share a tensor with them, ``radius`` times over."""
        reached, edge = set(indexes), indexes
        for _ in range(radius):
            names = {self.equal.find(name) for index in edge for name in self.free[index]}
            edge = {i for name in names for member in self.members[name] for i in self.touching[member]} - reached
            reached |= edge
        return reached

    def parts(self, indexes: Iterable[int]) -> list[frozenset[int]]:
        """The bounds, split into sets that have no tensor in common."""
        linked = Unions()
        for index in indexes:
            linked.join(self.equal.find(name) for name in self.free[index])
        parts: dict[str, list[int]] = defaultdict(list)
        for index in sorted(indexes):
            parts[linked.find(self.equal.find(self.free[index][0]))].append(index)
        return [frozenset(part) for part in parts.values()]

    def solve_part(self, indexes: frozenset[int]) -> None:
        """Place the tensors of these bounds. What is tied moves as one, unless the bounds cannot all hold."""
        names = {self.equal.find(name) for index in indexes for name in self.free[index]}
        groups = [self.members[name] for name in sorted(names)]
        self.positions.update(Part(self, indexes - self.equalities, groups).solve())
        if any(self.bounds[index].excess(self.positions) for index in indexes):
            singles = [[name] for group in groups for name in group]
            ties = {index for (name,) in singles for index in self.touching[name] if index in self.equalities}
            self.positions.update(Part(self, indexes | ties, singles).solve())


class Part:
    """Some bounds, and the groups of tensors that they touch; a group has one position."""

    def __init__(self, search: Search, indexes: Iterable[int], groups: list[list[str]]) -> None:
        self.search, self.groups = search, groups
        self.bounds = [(search.bounds[index], search.free[index]) for index in sorted(indexes)]
        self.variable = {name: at for at, group in enumerate(groups) for name in group}
        self.low, self.high = [], []
        for group in groups:
            reach = [position for name in group for position in search.reach(name)]
            self.low.append(max(min(reach) - MARGIN, MIN_POSITION))
            self.high.append(min(max(reach) + MARGIN, MAX_POSITION))
        self.first = (tuple(self.low), tuple(self.high))
        self.rows: list[Floats] = []

    def solve(self) -> dict[str, int]:
        """Positions by name. More are tried as long as a better one may lie there."""
        known = [self.search.hint[group[0]] for group in self.groups]
        while True:
            self.rows = [self.row(at) for at in range(len(self.groups))]
            sizes = [len(row[0]) for row in self.rows]
            at = minimize(sizes, self.tables(), [p - low for p, low in zip(known, self.low, strict=True)])
            known = [low + value for low, value in zip(self.low, at, strict=True)]
            if not self.widen(at):
                return {name: known[variable] for name, variable in self.variable.items()}

    def widen(self, values: Sequence[int]) -> bool:
        """Try more where the last one tried is the best, or costs less than the whole does now."""
        total = sum(float(row[0][value]) for row, value in zip(self.rows, values, strict=True))
        small = len(values) <= SMALL
        before = (tuple(self.low), tuple(self.high))
        for at, value in enumerate(values):
            cost = self.rows[at][0]
            step = max(MARGIN, len(cost) // 2)
            if value == 0 or (small and cost[:4].min() < total and self.low[at] > self.first[0][at] - REACH):
                self.low[at] = max(self.low[at] - step, MIN_POSITION)
            if value == len(cost) - 1 or (small and cost[-4:].min() < total and self.high[at] < self.first[1][at] + REACH):
                self.high[at] = min(self.high[at] + step, MAX_POSITION)
        return before != (tuple(self.low), tuple(self.high))

    def tables(self) -> list[Table]:
        """The cost of each group, and the excess of each bound at a price that no saving can pay."""
        price = 1.0 + 2.0 * sum(float(row[0].max()) for row in self.rows)
        tables = [Table((at,), row) for at, row in enumerate(self.rows)]
        return tables + [self.table(bound, names, price) for bound, names in self.bounds]

    def row(self, at: int) -> Floats:
        """Cost above the least, and distance from the original's choice, of each position of a group."""
        span = range(self.low[at], self.high[at] + 1)
        costs, hint = self.search.costs, self.search.hint
        cost = np.array([sum(costs.of(name, position) for name in self.groups[at]) for position in span])
        away = [sum(abs(hint[name] - position) for name in self.groups[at]) for position in span]
        return np.array([cost - cost.min(), away])

    def table(self, bound: Bound, names: tuple[str, ...], price: float) -> Table:
        scope = tuple(sorted({self.variable[name] for name in names}))
        grid: dict[str, Integers] = {}
        for name in bound.variables:
            if name in names:
                axis = scope.index(self.variable[name])
                span = np.arange(self.low[scope[axis]], self.high[scope[axis]] + 1)
                grid[name] = span.reshape([-1 if other == axis else 1 for other in range(len(scope))])
            elif name in self.search.start:
                grid[name] = np.asarray(self.search.start[name])
        shape = [self.high[variable] - self.low[variable] + 1 for variable in scope]
        values = np.zeros((2, *shape))
        values[0] = price * excess(bound, grid)
        return Table(scope, values)
