"""Where a quantized node runs: what the device cannot take, and what this call made of it.

The target knows the former (operator, rank, window, dynamic shape, batch). The call adds: a type in which the device
does not compute, a rule of the device that no positions can keep, and what the request leaves float.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ..custom_ops.stored_codes import holds_constant
from ..graph.element_types import FLOAT_OR_UNKNOWN
from ..plan import Role
from .fixed_shapes import open_inputs
from .hardware_rules import bounds_of_rules

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnx import NodeProto

    from ..plan import Bound, Plan
    from ..plan.marks import Marks
    from ..request.call import Call


WRITES_FLOATS = "it gives floats, which no quantized operator does"


def broken_rules(plan: Plan, bounds: Iterable[Bound]) -> dict[str, str]:
    """The first bound that does not hold at each node."""
    positions = plan.current()
    broken: dict[str, str] = {}
    for bound in bounds:
        if bound.excess(positions):
            broken.setdefault(bound.node, bound.describe(positions))
    return broken


def off_device(call: Call, plan: Plan, node: NodeProto, broken: dict[str, str]) -> str | None:
    """Why the node will not run on the target's device, or None; also None for targets that know no device."""
    placement = call.target.placement
    if placement is None:
        return None
    reason = placement(plan.graph, node)
    if reason is not None:
        return reason
    refusal = call.refusal(node)
    if refusal is not None and node.op_type in call.op_types:
        return f"stays float: {refusal}"
    foreign = _foreign_type(call, plan, node)
    if foreign is not None:
        return foreign
    return f"limit of a rule: {broken[node.name]}" if node.name in broken else None


def _foreign_type(call: Call, plan: Plan, node: NodeProto) -> str | None:
    for name in (*node.input, *node.output):
        planned = plan.of(plan.fused_end(name)) if name else None
        if planned is not None and planned.role is not Role.BIAS and not call.computes(planned.kind):
            return f"type: {planned.name} is {planned.kind}, in which the device does not compute"
    return None


def _note_exclusions_without_effect(call: Call, plan: Plan) -> None:
    """A node that the caller leaves float still stands between codes where its neighbours read and write them."""
    excluded = set(call.request.nodes_to_exclude)
    if not excluded:
        return
    for node in plan.graph:
        tensors = [name for name in (*node.input, *node.output) if name and not plan.graph.is_constant(name)]
        if node.name not in excluded or not all(plan.fused_end(name) in plan for name in tensors):
            continue
        around = [plan.graph.producer(name) for name in node.input if name]
        around += [reader for name in node.output for reader in plan.graph.consumers(name)]
        names = dict.fromkeys(other.name for other in around if other is not None and other.name not in excluded)
        if names:
            call.note(
                f"excluding {node.name} ({node.op_type}) alone changes nothing: its tensors have codes for its "
                f"neighbours; exclude them too: {', '.join(names)}"
            )


def _has_codes(call: Call, plan: Plan, node: NodeProto) -> bool:
    """Whether pairs stand at its ends; a quantized operator takes its place only where what it gives has codes too."""
    floats = [name for name in node.output if plan.graph.element_type(name) in FLOAT_OR_UNKNOWN]
    if call.settings.format.writer.writes_operators and floats:
        return any(plan.fused_end(name) in plan for name in floats)
    return any(name in plan for name in (*node.input, *node.output))


def report_nodes(call: Call, plan: Plan, marks: Marks) -> None:
    """Which nodes are quantized, which stay float and why, and where each one runs."""
    call.report.open_shapes = open_inputs(plan.graph.model)
    broken = broken_rules(plan, bounds_of_rules(call, plan)) if call.report.violations else {}
    for node in plan.graph:
        if holds_constant(node, plan.graph.is_constant):
            continue
        node = plan.graph.simulated_node.get(node.name, node)
        reason = off_device(call, plan, node, broken)
        if reason is not None:
            call.report.placement[node.name] = reason
        if node.name in plan.graph.device_nodes:
            continue
        if node.name in marks.nodes and _has_codes(call, plan, node):
            call.report.quantized[node.name] = node.op_type
        else:
            beside = any(name in plan for name in node.input)
            why = call.refusal(node) or (WRITES_FLOATS if beside else "no float tensor of it can be quantized")
            call.report.left_float[node.name] = f"{node.op_type}: {why}"
    _note_exclusions_without_effect(call, plan)
    for tensor in plan:
        call.report.types[tensor.name] = str(tensor.kind)
