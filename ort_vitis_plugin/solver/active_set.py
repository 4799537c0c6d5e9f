"""Positions of least cost within bounds: what a violated bound touches is solved exactly, the rest stays.

Only violated bounds are looked at first. If the solution breaks another bound, that one and its surroundings, doubled
each time, join. As long as the others are at their best, leaving bounds out can only lower the cost, so a solution that
breaks none of them is the best one of all.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from ..plan import Bound, Combination, Position
from .component import Component, Costs
from .greedy_repair import sequential_moves

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence


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
                    self.solve_component(part)
            broken = {
                index
                for index, bound in enumerate(self.bounds)
                if index not in active and self.free[index] and bound.excess(self.positions)
            }
            active = active | self.around(broken, radius)
            radius *= 2
        return self.positions

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

    def solve_component(self, indexes: frozenset[int]) -> None:
        """Place the tensors of these bounds. What is tied moves as one, unless the bounds cannot all hold."""
        names = {self.equal.find(name) for index in indexes for name in self.free[index]}
        groups = [self.members[name] for name in sorted(names)]
        self.positions.update(self.component(indexes - self.equalities, groups).solve())
        if any(self.bounds[index].excess(self.positions) for index in indexes):
            singles = [[name] for group in groups for name in group]
            ties = {index for (name,) in singles for index in self.touching[name] if index in self.equalities}
            self.positions.update(self.component(indexes | ties, singles).solve())

    def component(self, indexes: Iterable[int], groups: list[list[str]]) -> Component:
        bounds = [self.bounds[index] for index in sorted(indexes)]
        return Component(self.start, self.hint, self.costs, bounds, groups)
