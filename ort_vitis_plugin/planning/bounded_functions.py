"""A bounded function that calibration never saw fire has a range near 0; what fires later must not be clipped there.

Sigmoid and HardSigmoid give [0, 1], Tanh [-1, 1]. Where no sample brings one beyond 1/64 its range is that of a quarter
of the bound: a step of 2^-9 for int8, where 2^-15 would fit what was seen. A Softmax always fires: small
values over many entries are all that there is.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ..numerics.positions import covering_position
from ..plan import Bound

if TYPE_CHECKING:
    from onnx import NodeProto

    from ..calibration.statistics import Statistics
    from ..graph import Graph
    from ..plan import Plan

LOWEST = {"Sigmoid": 0.0, "HardSigmoid": 0.0, "Tanh": -1.0}
FIRED, ROOM = 1 / 64, 1 / 4


def least_range(graph: Graph, statistics: Statistics, tensor: str) -> tuple[float, float] | None:
    """The range that the output of a bounded function keeps free; None for others, and where it fired."""
    node, seen = _function(graph, tensor), statistics.get(tensor)
    if node is None or node.op_type not in LOWEST or seen is None or not seen.count or seen.abs_max >= FIRED:
        return None
    return LOWEST[node.op_type] * ROOM, ROOM


def _function(graph: Graph, tensor: str) -> NodeProto | None:
    """The node of the device that gives the tensor: factors that simulate it stand behind it."""
    node = graph.producer(tensor)
    while node is not None and (start := next((name for name in node.input if name in graph.device_output), None)):
        node = graph.producer(start)
    return None if node is None else graph.simulated_node.get(node.name, node)


def keep_room(plan: Plan, statistics: Statistics) -> None:
    """Bound the positions of such outputs: no rule may make their steps finer again."""
    for name, planned in plan.tensors.items():
        room = least_range(plan.graph, statistics, name)
        if room is None or planned.fixed or planned.position is None or name in plan.provider:
            continue
        qmin, qmax = planned.kind.limits()
        zero = int(planned.zero_point)
        highest = covering_position(*room, qmin - zero, qmax - zero)
        if planned.position > highest:
            planned.move(highest)
        node = plan.graph.producer(name)
        assert node is not None
        plan.bounds.append(Bound(plan.position(name), high=highest, rule="BoundedFunction", node=node.name))
