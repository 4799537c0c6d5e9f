"""Where a quantized node runs: what the device cannot take, and what this call made of it.

The target knows the former (operator, rank, window, dynamic shape, batch). The call adds: a type wider than the device
computes in, a rule of the device that no positions can keep, and what the request leaves float.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ..plan import Role
from .fixed_shapes import open_inputs
from .hardware_rules import rules

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnx import NodeProto

    from ..plan import Bound, Plan
    from ..planning.marker import PlannedQDQQuantizer
    from ..request.settings import Run

DEVICE_BITS = 8


def broken_rules(plan: Plan, bounds: Iterable[Bound]) -> dict[str, str]:
    """The first bound that does not hold at each node."""
    positions = plan.current()
    broken: dict[str, str] = {}
    for bound in bounds:
        if bound.excess(positions):
            broken.setdefault(bound.node, bound.describe(positions))
    return broken


def off_device(run: Run, plan: Plan, node: NodeProto, broken: dict[str, str]) -> str | None:
    """Why the node will not run on the target's device, or None; also None for targets that know no device."""
    placement = run.target.placement
    if placement is None:
        return None
    reason = placement(plan.graph, node)
    if reason is not None:
        return reason
    refusal = run.refusal(node)
    if refusal is not None and node.op_type in run.op_types:
        return f"stays float: {refusal}"
    wide = _wide_tensor(plan, node)
    if wide is not None:
        return wide
    return f"limit of a rule: {broken[node.name]}" if node.name in broken else None


def _wide_tensor(plan: Plan, node: NodeProto) -> str | None:
    for name in (*node.input, *node.output):
        planned = plan.of(plan.fused_end(name)) if name else None
        if planned is not None and planned.role is not Role.BIAS and planned.kind.bits > DEVICE_BITS:
            return f"wide type: {planned.name} is {planned.kind}, and the device computes in {DEVICE_BITS} bits"
    return None


def report_nodes(run: Run, plan: Plan, quantizer: PlannedQDQQuantizer) -> None:
    """Which nodes are quantized, which stay float and why, and where each one runs."""
    run.report.open_shapes = open_inputs(plan.graph.model)
    broken = broken_rules(plan, rules(run, plan)) if run.report.violations else {}
    for node in plan.graph:
        node = plan.graph.simulated_node.get(node.name, node)
        reason = off_device(run, plan, node, broken)
        if reason is not None:
            run.report.placement[node.name] = reason
        if node.name in plan.graph.device_nodes or node.op_type == "Constant":
            continue
        if node.name in quantizer.marked_nodes and any(name in plan for name in (*node.input, *node.output)):
            run.report.quantized[node.name] = node.op_type
        else:
            why = run.refusal(node) or "no float tensor of it can be quantized"
            run.report.left_float[node.name] = f"{node.op_type}: {why}"
    for tensor in plan:
        run.report.types[tensor.name] = str(tensor.kind)
