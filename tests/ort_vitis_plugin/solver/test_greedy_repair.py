"""What holds is left alone by whoever repairs what does not."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest

from ort_vitis_plugin.plan import Bound, Position
from ort_vitis_plugin.solver import solve
from tests.ort_vitis_plugin.solver.bounds import CUT, W, Y, equal


@pytest.mark.parametrize(
    ("start", "bounds"),
    [
        ({}, []),
        ({"w": 7, "x": 5, "y": 5}, []),
        ({"w": 7, "x": 5, "y": 5}, [CUT]),
        ({"w": 16, "x": 5, "y": 5}, [CUT]),
        ({"w": 40, "y": 5}, [CUT]),
        ({"w": 40, "x": 40, "y": 5}, [Bound(W + Position(None) - Y, 0, 16)]),
        ({"x": 3, "y": 3}, equal("x", "y")),
    ],
    ids=["nothing", "no bound", "holds", "at the limit", "x is float", "an unquantized term", "equal already"],
)
def test_what_keeps_its_bounds_stays(start: dict[str, int], bounds: list[Bound]) -> None:
    def never(position: int) -> float:
        raise AssertionError("a cost was asked for")

    before = dict(start)
    solution = solve(start, dict.fromkeys(start, never), (), bounds)
    assert solution.positions == before
    assert solution.positions is not start
    assert start == before
    assert not solution.violations
