"""Bounds and costs as tests of the solver write them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable

from ort_vitis_plugin.plan import Bound, Position, largest

B, W, X, Y, Z = map(Position, "bwxyz")


CUT = Bound(W + X - Y, 0, 16, prefer=W, rule="AdjustShiftCut", node="conv")


def slope(best: int, price: float = 1.0) -> Callable[[int], float]:
    """A tensor that pays ``price`` for each position away from its best one."""
    return lambda position: price * abs(position - best)


def equal(*names: str) -> list[Bound]:
    pairs = [(Position(name), Position(names[-1])) for name in names[:-1]]
    return [Bound(x - y, 0, 0, prefer=largest(x, y), rule="AlignConcat", node="concat") for x, y in pairs]
