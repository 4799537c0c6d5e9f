"""A plan moves into the bounds of its hardware rules."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..plan import Bound, Move, Plan
from .error_weight import ErrorWeights
from .relaxed_rules import in_the_way
from .solve import solve

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


# Of the worst error before. Those of clipping all point one way: they add up where those of rounding cancel.
COSTLY_SHARE = 0.5


def adjust_plan(plan: Plan, bounds: Sequence[Bound]) -> tuple[list[Move], list[str]]:
    """Move the tensors of ``plan`` into the bounds: what moved and which rules made it, and what does not hold."""
    start = plan.current()
    costs, fixed = _costs(plan, start)
    kept = list(bounds)
    positions = solve(start, costs, fixed, kept).positions
    while given_up := in_the_way(start, positions, costs, kept):
        kept = [bound for bound in kept if not bound.soft or (bound.rule, bound.node) not in given_up]
        positions = solve(start, costs, fixed, kept).positions
    moves = _moves(start, positions, kept)
    worst = max((cost(start[name]) for name, cost in costs.items()), default=0.0) if moves else 0.0
    moves = [replace(move, costly=_is_costly(move, costs, COSTLY_SHARE * worst)) for move in moves]
    for move in moves:
        plan.tensors[move.tensor].move(move.after)
    return moves, [bound.describe(positions) for bound in bounds if bound.excess(positions)]


def _costs(plan: Plan, start: Mapping[str, int]) -> tuple[dict[str, Callable[[int], float]], set[str]]:
    """The summed relative error of each group by its effect, and the groups with a fixed member."""
    errors: dict[str, list[Callable[[int], float]]] = {}
    fixed = set()
    weights = ErrorWeights(plan)
    for tensor in plan:
        leader = plan.leader(tensor.name)
        if leader in start:
            if tensor.fixed:
                fixed.add(leader)
            if tensor.curve is not None:
                errors.setdefault(leader, []).append(_weighted(tensor.curve.error, weights.of(tensor.name)))
    return {leader: _summed(parts) for leader, parts in errors.items()}, fixed


def _weighted(error: Callable[[int], float], factor: float) -> Callable[[int], float]:
    return error if factor == 1.0 else lambda position: factor * error(position)


def _summed(errors: list[Callable[[int], float]]) -> Callable[[int], float]:
    return lambda position: sum(error(position) for error in errors)


def _is_costly(move: Move, costs: Mapping[str, Callable[[int], float]], limit: float) -> bool:
    cost = costs.get(move.tensor)
    return cost is not None and cost(move.after) - cost(move.before) > limit


def _moves(before: Mapping[str, int], after: Mapping[str, int], bounds: Sequence[Bound]) -> list[Move]:
    touching: dict[str, list[Bound]] = {name: [] for name in before if before[name] != after[name]}
    for bound in bounds:
        for name in bound.variables:
            if name in touching:
                touching[name].append(bound)
    moves = []
    undone = dict(after)
    for name, concerned in touching.items():
        undone[name] = before[name]
        rules = [bound.rule for bound in concerned if bound.excess(before) or bound.excess(undone)]
        undone[name] = after[name]
        rules = rules or [bound.rule for bound in concerned]
        moves.append(Move(name, before[name], after[name], tuple(dict.fromkeys(rules))))
    return moves
