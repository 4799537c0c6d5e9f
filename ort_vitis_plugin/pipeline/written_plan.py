"""A plan can be written without being used up: into a copy of its graph, within the rules."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..emission.emitter import Emitter
from ..graph import Graph
from ..planning.marker import Marker
from ..plugin.op_functions import define_ops
from ..report.report import Report
from ..request.call import Call
from . import subgraphs
from .hardware_rules import bounds_of_rules, within_rules

if TYPE_CHECKING:
    from onnx import ModelProto

    from ..plan import Bound, Plan
    from ..plugin.context import Context


def carry_over(old: Graph, new: Graph) -> Graph:
    """What a graph knows beside its nodes, for one that was read anew from its model."""
    new.device_output.update(old.device_output)
    new.device_nodes |= old.device_nodes
    new.simulated_node.update(old.simulated_node)
    new.kept, new.renames = old.kept, old.renames
    return new


def _quiet(context: Context) -> Call:
    """The call, of which the report knows nothing."""
    assert isinstance(context, Call)
    return Call(context.settings, replace(context.ledger, report=Report()))


def ruled(plan: Plan, context: Context) -> tuple[Plan, list[Bound]]:
    """A copy of the plan where the target's rules hold, and their bounds; neither the plan nor the report changes."""
    call = _quiet(context)
    trial = within_rules(call, plan.copy())
    return trial, list(bounds_of_rules(call, trial))


def written(plan: Plan, context: Context) -> ModelProto:
    """The model with pairs that the plan gives once the target's rules hold; bodies of If, Loop and Scan stay float.

    Neither the plan nor the report changes.
    """
    call = _quiet(context)
    graph = carry_over(plan.graph, Graph(plan.graph.write_back()))
    nodes = {node.name: node for node in graph}
    trial = plan.copy()
    trial.graph = graph
    trial.removed = {name: nodes[name] for name in plan.removed}
    trial = within_rules(call, trial)
    marks = (call.format.marker or Marker)(graph, subgraphs.call_for(call, graph)).marks
    emitter = Emitter(trial, marks, call.format.writer(call, graph))
    emitter.emit([])
    assert emitter.qdq_model is not None
    define_ops(emitter.qdq_model, call.catalog)
    return emitter.qdq_model
