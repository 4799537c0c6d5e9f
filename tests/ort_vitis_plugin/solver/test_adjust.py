"""A plan moves into its bounds, and the moves name the rules that made them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from ort_vitis_plugin.numerics.qtypes import host_qtype
from ort_vitis_plugin.plan import Plan, Role, TensorPlan
from ort_vitis_plugin.solver import adjust_plan
from tests.ort_vitis_plugin.solver.bounds import CUT, equal

INT8 = host_qtype("QInt8")


@dataclass
class Slope:
    """A curve whose error grows with each position; its zero point tells the position."""

    at: int
    price: float

    def best(self) -> int:
        return self.at

    def error(self, position: int) -> float:
        return self.price * abs(position - self.at)

    def zero_point(self, position: int) -> int:
        return position


def plan_of(**tensors: tuple[int, float]) -> Plan:
    graph = cast(Any, SimpleNamespace(device_output={}, outputs=(), consumers=lambda tensor: (), sorted=list))
    made = {}
    for name, (position, price) in tensors.items():
        made[name] = TensorPlan(name, Role.ACTIVATION, INT8, np.float32(1), np.int64(0), curve=Slope(position, price))
        made[name].move(position)
    return Plan(graph, made)


def test_a_plan_is_moved_and_the_moves_name_their_rules() -> None:
    plan = plan_of(w=(20, 0.002), x=(5, 0.003), y=(2, 0.001), z=(2, 0.001))
    plan.tensors["w"].fixed = True
    bounds = [CUT, *equal("z", "y")]
    moves, violations = adjust_plan(plan, bounds)
    assert not violations
    assert plan.current() == {"w": 20, "x": 5, "y": 9, "z": 9}
    assert plan.tensors["y"].zero_point == 9
    told = {(move.tensor, move.before, move.after, move.rules) for move in moves}
    assert told == {("y", 2, 9, ("AdjustShiftCut", "AlignConcat")), ("z", 2, 9, ("AlignConcat",))}


def test_a_group_pays_for_all_its_tensors_and_is_fixed_with_one() -> None:
    for prices, expected in (((2, 1, 2), {"w": 13}), ((2, 1, 0.5), {"x": -2})):
        plan = plan_of(w=(20, prices[0]), x=(5, prices[1]), y=(2, 9), z=(5, prices[2]))
        plan.share("z", "x")
        adjust_plan(plan, [CUT])
        assert plan.current() == {"w": 20, "x": 5, "y": 2} | expected
    plan = plan_of(w=(20, 2), x=(5, 1), y=(2, 9), z=(5, 0))
    plan.share("z", "x")
    plan.tensors["z"].fixed = True
    adjust_plan(plan, [CUT])
    assert plan.current() == {"w": 13, "x": 5, "y": 2}


def test_many_moves_ask_for_errors_as_often_as_few_do() -> None:
    """What all tensors lost at first is asked for once, not for each move."""

    @dataclass
    class Counted(Slope):
        asked: int = 0

        def error(self, position: int) -> float:
            self.asked += 1
            return super().error(position)

    def asked_per_pair(pairs: int) -> float:
        plan = plan_of(**{f"{side}{at}": (2 if side == "a" else 5, 0.001) for at in range(pairs) for side in "ab"})
        for tensor in plan:
            position = tensor.position
            assert position is not None
            tensor.curve = Counted(position, 0.001)
        moves, _ = adjust_plan(plan, [bound for at in range(pairs) for bound in equal(f"a{at}", f"b{at}")])
        assert len(moves) == pairs
        return sum(cast(Counted, tensor.curve).asked for tensor in plan) / pairs

    assert asked_per_pair(60) <= asked_per_pair(6)
