"""Inside one operation of the device no tensor has a pair: its two ends share one, and so do their followers."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from .saturating_clips import saturates

if TYPE_CHECKING:
    from ..plan import Plan
    from ..plan.marks import Marks
    from ..request.call import Call


def fuse(marks: Marks, plan: Plan, settings: Call) -> None:
    """Tensors inside one device operation get no pair, where the device computes in their type."""
    pairs = [pair for pair in settings.catalog.fusions(settings.lineage) if settings.enabled(pair)]
    if not pairs or not settings.computes(settings.activation):
        return
    for node in marks.nodes.values():
        tensor = plan.fused_end(node.output[0])
        consumer = plan.graph.sole_consumer(tensor)
        if consumer is None or consumer.name not in marks.nodes or tensor not in plan:
            continue
        for pair in pairs:
            fits = node.op_type in pair.producers and consumer.op_type in pair.consumers
            if fits and pair.applies(plan.graph, node, consumer):
                plan.fused[tensor] = consumer.output[0]
                plan.record(tensor, f"{pair.key}: {node.name} and {consumer.name} are one operation of the device")
                drop(plan, tensor)
                break


def drop(plan: Plan, tensor: str) -> None:
    """Take a tensor out of the plan; who used its parameters uses its provider's, or shares among themselves."""
    provider = plan.provider.pop(tensor, None)
    followers = [name for name, other in plan.provider.items() if other == tensor]
    for follower in followers:
        if provider is not None:
            plan.provider[follower] = provider
        elif follower != followers[0]:
            plan.provider[follower] = followers[0]
        else:
            del plan.provider[follower]
    if followers and provider is None:
        first, dropped = plan.tensors[followers[0]], plan.tensors[tensor]
        first.scale, first.zero_point, first.curve = dropped.scale, dropped.zero_point, dropped.curve
    del plan.tensors[tensor]


def remove_activations(marks: Marks, plan: Plan) -> None:
    """A Relu or Clip goes where the codes of its output saturate just as it does."""
    for node in marks.removable:
        x, y = node.input[0], node.output[0]
        planned = plan.of(y)
        if planned is None or planned.conversion is not None or x not in plan:
            continue
        if plan.graph.sole_consumer(x) is not node or plan.graph.producer(x) is None or x in plan.fused:
            continue
        if plan.graph.element_type(x) and saturates(plan.graph, node, planned):
            plan.fused[x] = y
            plan.removed[node.name] = node
            plan.record(x, f"{node.op_type} {node.name} is what the codes of its output do by saturating")
            drop(plan, x)
