"""The moves of the original tool: bound after bound, the preferred tensor goes the least way that satisfies it.

Its end state settles equal costs, and shows how far positions have to go. Where it moves nothing, neither do we.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ..numerics.positions import MAX_POSITION, MIN_POSITION
from ..plan import Bound, Expression, Extreme

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

ROUNDS = 4  # the original makes two; pairwise equalities take longer to settle than its alignment of whole nodes


def sequential_moves(
    start: Mapping[str, int], fixed: Collection[str], bounds: Sequence[Bound]
) -> tuple[dict[str, int], set[int]]:
    """The positions afterwards, and the indexes of all bounds that were violated on the way."""
    positions = dict(start)
    violated = {index for index, bound in enumerate(bounds) if bound.excess(positions)}
    for _ in range(ROUNDS if violated else 0):
        moved = False
        for index, bound in enumerate(bounds):
            if bound.excess(positions):
                violated.add(index)
                moved |= _repair(bound, positions, fixed)
        if not moved:
            break
    return positions, violated


def _repair(bound: Bound, positions: dict[str, int], fixed: Collection[str]) -> bool:
    distance = abs(bound.excess(positions))
    for name in _movable(bound, positions):
        if name in fixed or name not in positions:
            continue
        before = positions[name]
        for position in (before - distance, before + distance):
            positions[name] = min(max(position, MIN_POSITION), MAX_POSITION)
            if not bound.excess(positions):
                return True
        positions[name] = before
    return False


def _movable(bound: Bound, positions: Mapping[str, int]) -> Iterator[str]:
    """The preferred tensor, then the others."""
    if bound.prefer is not None:
        yield from _terms(bound.prefer, positions)
    yield from bound.variables


def _terms(prefer: Expression, positions: Mapping[str, int]) -> Iterator[str]:
    """The tensors of ``prefer``; of a least or largest, those that are it."""
    if isinstance(prefer, Extreme):
        extreme = prefer.value(positions)
        for part in prefer.parts:
            if part.value(positions) == extreme:
                yield from part.variables
    else:
        yield from prefer.variables
