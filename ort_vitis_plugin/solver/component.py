"""A few tensors and all the bounds between them: the positions of least cost, exactly.

Every position near the start and the original's choice is tried, and further ones while they cost less than what is
known to be possible; what costs more than that alone needs no trying. Where a bound would have more than a million
combinations (positions a hundred apart: steps that are no network's), positions far from the best known are tried at
equal distances, and then all those near the best of them.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..errors import CalibrationError
from ..numerics.positions import MAX_POSITION, MIN_POSITION
from .cost_tables import Integers, excess
from .variable_elimination import Floats, Table, minimize

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..plan import Bound

# Choices: tests/ort_vitis_plugin/solver/test_solve.py compares with an exhaustive search, bench_solver.py times them.
MARGIN = 2  # positions that are tried beyond those that satisfy a bound at once
REACH = 12  # how far from there a small part is searched for other valleys of its curves
SMALL = 64  # groups; a larger part is not searched for other valleys
RIDGE = 4  # how many positions in a row must cost too much for the search to end there
MOST = 1 << 20  # combinations of one bound
_ROUNDING = 1 + 1e-9


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


def _thinned(span: Integers, known: int, most: int) -> Integers:
    """At most so many of the positions: half of them those nearest to the known one, the others far apart alike."""
    if len(span) <= most:
        return span
    by_distance = span[np.argsort(np.abs(span - known), kind="stable")]
    near, far = by_distance[: most // 2], np.sort(by_distance[most // 2 :])
    return np.sort(np.concatenate([near, far[np.linspace(0, len(far) - 1, most - len(near)).astype(np.int64)]]))


class Component:
    """The groups of tensors that some bounds touch; a group has one position."""

    def __init__(
        self,
        start: Mapping[str, int],
        hint: Mapping[str, int],
        costs: Costs,
        bounds: Sequence[Bound],
        groups: Sequence[Sequence[str]],
    ) -> None:
        self.start, self.hint, self.costs, self.bounds, self.groups = start, hint, costs, bounds, groups
        self.variable = {name: at for at, group in enumerate(groups) for name in group}
        self.rest = {n: start[n] for b in bounds for n in b.variables if n in start and n not in self.variable}
        reach: list[set[int]] = [set() for _ in groups]
        for name, at in self.variable.items():
            reach[at] |= {start[name], hint[name]}
        for bound in bounds:
            distance = bound.excess(start)
            for name in bound.variables:
                if name in self.variable:
                    reach[self.variable[name]] |= {start[name] - distance, start[name] + distance}
        self.low = [max(min(positions) - MARGIN, MIN_POSITION) for positions in reach]
        self.high = [min(max(positions) + MARGIN, MAX_POSITION) for positions in reach]
        self.limits = [(low - REACH, high + REACH) for low, high in zip(self.low, self.high, strict=True)]
        self.spans: list[Integers] = []
        self.scopes = [
            tuple(sorted({self.variable[name] for name in bound.variables if name in self.variable}))
            for bound in self.bounds
        ]

    def solve(self) -> dict[str, int]:
        """Positions by name."""
        known = [self.hint[group[0]] for group in self.groups]
        tried: set[tuple[int, ...]] = set()
        while True:
            tried.add(tuple(known))
            rows = [self.row(at) for at in range(len(self.groups))]
            most = self.cost(rows, known) * _ROUNDING if self.holds(known) else np.inf
            self.spans = [
                low + np.flatnonzero((row[0] <= most) | (np.arange(len(row[0])) == position - low))
                for low, row, position in zip(self.low, rows, known, strict=True)
            ]
            is_thin = self.thin(known)
            kept = [row[:, span - low] for low, row, span in zip(self.low, rows, self.spans, strict=True)]
            at = [int(np.searchsorted(span, position)) for span, position in zip(self.spans, known, strict=True)]
            at = minimize([len(span) for span in self.spans], self.tables(kept), at)
            known = [int(span[value]) for span, value in zip(self.spans, at, strict=True)]
            is_new = is_thin and tuple(known) not in tried
            if not self.widen(rows, known) and not is_new:
                return self.named(known)

    def thin(self, known: Sequence[int]) -> bool:
        """Leave positions out until no bound has more than MOST combinations; False where none had."""
        most = [len(span) for span in self.spans]
        for scope in self.scopes:
            if math.prod(len(self.spans[at]) for at in scope) > MOST:
                for at in scope:
                    most[at] = min(most[at], max(int(MOST ** (1 / len(scope))), 2))
        before = [len(span) for span in self.spans]
        self.spans = [_thinned(*each) for each in zip(self.spans, known, most, strict=True)]
        return most != before

    def named(self, positions: Sequence[int]) -> dict[str, int]:
        return {name: positions[at] for name, at in self.variable.items()}

    def holds(self, positions: Sequence[int]) -> bool:
        """Whether all bounds hold there."""
        everything = self.rest | self.named(positions)
        return not any(bound.excess(everything) for bound in self.bounds)

    def cost(self, rows: Sequence[Floats], positions: Sequence[int]) -> float:
        return sum(float(row[0][p - low]) for row, p, low in zip(rows, positions, self.low, strict=True))

    def widen(self, rows: Sequence[Floats], positions: Sequence[int]) -> bool:
        """Try more where the last one tried is the best, or where those at the end cost less than all do now."""
        most = self.cost(rows, positions) if len(rows) <= SMALL else 0.0
        before = (tuple(self.low), tuple(self.high))
        for at, position in enumerate(positions):
            cost, (lowest, highest) = rows[at][0], self.limits[at]
            low, high = self.low[at], self.high[at]
            step = max(MARGIN, len(cost) // 2)
            if position == low or (low > lowest and cost[:RIDGE].min() < most):
                self.low[at] = max(low - step, MIN_POSITION)
            if position == high or (high < highest and cost[-RIDGE:].min() < most):
                self.high[at] = min(high + step, MAX_POSITION)
        return before != (tuple(self.low), tuple(self.high))

    def row(self, at: int) -> Floats:
        """Cost above the least, and distance from the original's choice, of each position of a group."""
        span, group = range(self.low[at], self.high[at] + 1), self.groups[at]
        cost = np.array([sum(self.costs.of(name, position) for name in group) for position in span])
        away = [sum(abs(self.hint[name] - position) for name in group) for position in span]
        return np.array([cost - cost.min(), away])

    def tables(self, rows: Sequence[Floats]) -> list[Table]:
        """The cost of each group, and the excess of each bound at a price that no saving can pay."""
        price = 1.0 + 2.0 * sum(float(row[0].max()) for row in rows)
        tables = [Table((at,), row) for at, row in enumerate(rows)]
        return tables + [self.table(*each, price) for each in zip(self.bounds, self.scopes, strict=True)]

    def table(self, bound: Bound, scope: tuple[int, ...], price: float) -> Table:
        grid: dict[str, Integers] = {}
        for name in bound.variables:
            if name in self.variable:
                at = self.variable[name]
                grid[name] = self.spans[at].reshape([-1 if other == at else 1 for other in scope])
            elif name in self.rest:
                grid[name] = np.asarray(self.rest[name])
        values = np.zeros((2, *(len(self.spans[variable]) for variable in scope)))
        values[0] = price * excess(bound, grid)
        return Table(scope, values)
