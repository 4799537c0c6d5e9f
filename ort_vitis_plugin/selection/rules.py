"""What stays float by declared rules: nodes are excluded, tensors get no pair, each with its reason."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..graph import Graph
    from ..plugin.declarations import LeaveFloat
    from ..request.call import Call


def apply_leave_float(call: Call, graph: Graph, rule: LeaveFloat) -> int:
    """Ask one rule; returns how many nodes and tensors it takes out of what the request selects."""
    graph.step = rule.key
    found = rule.select(graph, call)
    nodes = [node for node in graph if node.name in found.nodes]
    taken = [node for node in nodes if call.refusal(node) is None and not call.is_requested(node)]
    for node in taken:
        call.leave_float(node, found.nodes[node.name])
    tensors = {name: why for name, why in found.tensors.items() if name not in call.ledger.float_tensors}
    call.ledger.float_tensors.update(tensors)
    call.ledger.float_readers.update(found.readers)
    count = len(taken) + len(tensors)
    if count:
        call.report.transforms[rule.key] = call.report.transforms.get(rule.key, 0) + count
    return count


def leave_float_inside(call: Call, body: Graph) -> None:
    """Ask all rules about the body of an If, Loop or Scan, of which calibration knows the tensors."""
    for rule in call.catalog.leave_float(call.lineage):
        if call.enabled(rule):
            apply_leave_float(call, body, rule)
