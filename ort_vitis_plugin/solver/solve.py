"""Positions of least total error within bounds."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..plan import Bound
from .active_set import Search

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence


@dataclass(frozen=True)
class Solution:
    """A position for each tensor, and a line for each bound that does not hold there."""

    positions: dict[str, int]
    violations: list[str]


def solve(
    start: Mapping[str, int],
    costs: Mapping[str, Callable[[int], float]],
    fixed: Collection[str],
    bounds: Sequence[Bound],
) -> Solution:
    """Positions of least total cost within all bounds; equal costs: nearest to what the original tool would choose.

    A tensor without costs moves freely; one that is fixed, or that no violated bound reaches, stays. Where bounds
    contradict each other, their total excess is least.
    """
    positions = Search(start, costs, fixed, bounds).run()
    return Solution(positions, [bound.describe(positions) for bound in bounds if bound.excess(positions)])
