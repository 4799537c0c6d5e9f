"""A rule that would ruin a tensor gives way: its node leaves the device, and every other rule holds.

A rule may want a step so fine that a tensor clips to a fraction of its range (boxes of 640 pixels that are joined with
scores from a HardSigmoid, whose step is at most 2^-7; an output that would have to be as fine as a weight of 1e-9).
Positions exist, but what they give is noise. Eight bits give 30 to 50 dB: a detector whose boxes kept 10.6 dB of 41
lost a fifth of its score by that alone (`dddd_det` in tests/zoo/README.md).
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..plan import Bound

RUINED = 0.01  # clipping leaves a tensor 20 dB at most, as it counts for the outputs,
WORSE = 10.0  # and took 10 dB or more


def in_the_way(
    start: Mapping[str, int],
    found: Mapping[str, int],
    costs: Mapping[str, Callable[[int], float]],
    bounds: Sequence[Bound],
) -> set[tuple[str, str]]:
    """(rule, node) of the soft bounds that keep ruined tensors from where they were: of these, those farthest off."""
    ruined = {
        name
        for bound in bounds
        for name in bound.variables
        if name in found and found[name] > start[name] and _is_ruined(start[name], found[name], costs.get(name))
    }
    unmoved = {name: start[name] if name in ruined else position for name, position in found.items()}
    distance: dict[tuple[str, str], int] = {}
    for bound in bounds:
        if bound.soft and ruined.intersection(bound.variables):
            off = abs(bound.excess(unmoved))
            distance[bound.rule, bound.node] = max(off, distance.get((bound.rule, bound.node), 0))
    farthest = max(distance.values(), default=0)
    return {which for which, off in distance.items() if off == farthest > 0}


def _is_ruined(before: int, after: int, cost: Callable[[int], float] | None) -> bool:
    return cost is not None and cost(after) >= max(RUINED, WORSE * cost(before))
