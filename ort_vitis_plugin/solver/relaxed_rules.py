"""A join that would ruin a tensor gives way: its node leaves the device, and every other rule holds.

A rule may want a step so fine that what else flows into the same Concat clips to a fraction of its range (boxes of 640
pixels beside scores from a HardSigmoid, whose step is at most 2^-7). Positions exist, but what they give is noise.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..plan import Bound

CLIPPED = 2  # a tensor that keeps at most a quarter of its range ...
RUINED = 0.25  # ... and so loses at least this share of its energy (6 dB),
WORSE = 10.0  # this many times as much as before


def in_the_way(
    start: Mapping[str, int],
    found: Mapping[str, int],
    costs: Mapping[str, Callable[[int], float]],
    bounds: Sequence[Bound],
) -> set[tuple[str, str]]:
    """(rule, node) of what may give way and joins a ruined tensor with others: of these, what joins the farthest."""
    joins: dict[tuple[str, str], set[str]] = defaultdict(set)
    for bound in bounds:
        if bound.soft:
            joins[bound.rule, bound.node].update(name for name in bound.variables if name in found)
    ruined = {name for name in set().union(*joins.values()) if _is_ruined(start[name], found[name], costs.get(name))}
    spread = {
        join: max(start[name] for name in names) - min(start[name] for name in names)
        for join, names in joins.items()
        if names & ruined
    }
    return {join for join, bits in spread.items() if bits == max(spread.values())}


def _is_ruined(before: int, after: int, cost: Callable[[int], float] | None) -> bool:
    return cost is not None and after - before >= CLIPPED and cost(after) >= max(RUINED, WORSE * cost(before))
