"""A body is planned as a model of its own, and takes from the graph around it what it captures."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from onnx import GraphProto, ModelProto, NodeProto, helper

from ...custom_ops.stored_codes import holds_constant
from ...emission.emitter import Emitter
from ...emission.names import GENERATED_SUFFIXES
from ...graph import DEFAULT_DOMAINS, Graph, captured_names, inner_nodes, subgraphs, walk
from ...onnx_io import external_weights
from ...plan import Plan, TensorPlan
from ...planning.marker import Marker
from ...planning.planner import Planner
from ...selection.rules import leave_float_inside
from ..hardware_rules import within_rules
from ..node_placement import report_nodes
from ..tensor_stories import tell_tensors

if TYPE_CHECKING:
    from ...calibration.statistics import Statistics
    from ...request.call import Call

LOOPS = ("If", "Loop", "Scan")


def call_for(call: Call, graph: Graph) -> Call:
    """The call with those TensorQuantOverrides that name no tensor of a body."""
    overrides = call.overrides
    if not call.settings.quantizes_bodies or not overrides:
        return call
    inside = {name for node in inner_nodes(graph) for name in (*node.output, *node.input)}
    return call.with_overrides({k: v for k, v in overrides.items() if k not in inside or _has(graph, k)})


def _has(graph: Graph, name: str) -> bool:
    return name in graph.values or name in graph.initializers


class BodyQuantizer:
    """Quantizes every body of a graph in place."""

    def __init__(self, call: Call, statistics: Statistics) -> None:
        ran = {name: sketch for name, sketch in statistics.items() if sketch.count or any(sketch.non_finite)}
        self.call, self.statistics = call, replace(statistics, sketches=ran)

    def quantize(self, graph: Graph, plan: Plan) -> None:
        """The bodies of ``graph``, whose own plan is ``plan`` and not yet written."""
        if self.call.settings.quantizes_bodies:
            self._bodies(graph, plan, _names(graph))

    def _bodies(self, graph: Graph, plan: Plan, taken: set[str]) -> None:
        owners = [node for node in graph if node.op_type in LOOPS and node.domain in DEFAULT_DOMAINS]
        if not owners:
            return
        taken = taken | {
            tensor.name + suffix for tensor in plan for suffix in GENERATED_SUFFIXES
        }  # the graph around has first right
        for node in owners:
            # What the bodies capture is part of the index: take the node out of it while they change.
            graph.remove(node)
            for body in subgraphs(node):
                reason = self._refusal(node, body)
                if reason is None:
                    taken |= self._body(graph, plan, body, taken)
                else:
                    self._report_float(graph, body, reason)
            graph.add(node)
        graph.reserve(taken & _names(graph))

    def _report_float(self, outer: Graph, body: GraphProto, reason: str) -> None:
        stored = _stored(body) | {name for name in outer.initializers if outer.is_constant(name)}
        for node in walk(body.node):
            if not holds_constant(node, stored.__contains__):
                self.call.report.left_float[node.name] = f"{node.op_type}: {reason}"

    def _refusal(self, node: NodeProto, body: GraphProto) -> str | None:
        if node.name in self.call.request.nodes_to_exclude:
            return f"inside {node.name}, which is in nodes_to_exclude"
        if node.name in self.call.ledger.excluded:
            return f"inside {node.name}, which is {self.call.ledger.excluded[node.name]}"
        selected = [each for each in walk(body.node) if self.call.refusal(each) is None]
        made = [name for each in selected for name in each.output]
        if made and self.call.settings.needs_data and not any(name in self.statistics for name in made):
            return f"this body of {node.name} never ran in calibration"
        return None

    def _body(self, outer: Graph, outer_plan: Plan, body: GraphProto, taken: set[str]) -> set[str]:
        """Quantize one body; returns the names in it."""
        inner, captured = _inner_graph(outer, body)
        inner.reserve(taken)
        overrides = {name: value for name, value in self.call.overrides.items() if _has(inner, name)}
        call = self.call.with_overrides(overrides)
        leave_float_inside(call, inner)
        marks = (call.format.marker or Marker)(inner, call).marks
        plan = Planner(marks, self.statistics, call, call.ledger).plan()
        for name in captured:
            _as_outside(plan, outer_plan, name)
        plan = within_rules(call, plan)
        report_nodes(call, plan, marks)
        tell_tensors(call, plan, marks)
        self._bodies(inner, plan, taken)
        model = Emitter(plan, marks, call.format.writer(call, inner)).emit(call.report.skips)
        _take_over(outer, body, model)
        return _names(Graph(model, copy=False))


def _stored(body: GraphProto) -> set[str]:
    """Names of the constants in a body, those in its own bodies included."""
    names = {tensor.name for tensor in body.initializer}
    for node in body.node:
        if node.op_type == "Constant":
            names.update(node.output)
        for inner in subgraphs(node):
            names |= _stored(inner)
    return names


def _names(graph: Graph) -> set[str]:
    """Names of tensors and nodes, those in bodies included."""
    names = graph.values.keys() | graph.initializers.keys()
    for node in (*graph, *inner_nodes(graph)):
        names |= {node.name, *node.input, *node.output}
        for body in subgraphs(node):
            names |= {value.name for value in (*body.input, *body.initializer)}
    return names


def _inner_graph(outer: Graph, body: GraphProto) -> tuple[Graph, list[str]]:
    """The body as a model of its own, in which captured constants are initializers; and the names that it captures."""
    model = ModelProto(ir_version=outer.model.ir_version, graph=body)
    model.opset_import.extend(outer.model.opset_import)
    captured = sorted(captured_names(helper.make_node("Loop", [], [], body=body)))
    model.graph.initializer.extend(outer.initializers[name] for name in captured if outer.is_constant(name))
    known = (outer.values.get(name) for name in captured if not outer.is_constant(name))
    model.graph.value_info.extend(value for value in known if value is not None)
    inner = Graph(model, copy=False)
    return inner, captured


def _as_outside(plan: Plan, outer: Plan, name: str) -> None:
    """A captured tensor has one set of parameters, that of the graph which makes it."""
    planned, known = plan.tensors.get(name), outer.of(name)
    if planned is None or known is None or plan.graph.is_constant(name) or known.conversion is not None:
        return
    plan.provider.pop(name, None)
    plan.tensors[name] = TensorPlan(name, planned.role, known.kind, known.scale, known.zero_point, fixed=True)


def _take_over(outer: Graph, body: GraphProto, model: ModelProto) -> None:
    """Write the body; a constant of the graph outside that it still reads stays outside."""
    constants = [tensor for tensor in model.graph.initializer if tensor.name not in outer.initializers]
    for tensor in constants:
        external_weights.fill_tensor(tensor)  # nobody can hand a body's constants to onnxruntime
    body.CopyFrom(model.graph)
    del body.initializer[:]
    body.initializer.extend(constants)
    known = {entry.domain for entry in outer.model.opset_import}
    defined = {(function.domain, function.name) for function in outer.model.functions}
    new = [function for function in model.functions if (function.domain, function.name) not in defined]
    outer.model.functions.extend(new)
    outer.model.opset_import.extend(entry for entry in model.opset_import if entry.domain not in known)
