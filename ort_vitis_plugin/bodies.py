"""The bodies of If, Loop and Scan are graphs of their own: planned one by one, and written with pairs of their own.

What a body captures is settled outside: a tensor that the graph around it quantizes has the same parameters inside; a
constant is stored in the body as codes. A body that calibration never ran stays float.
"""

# SPDX-License-Identifier: MIT

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from . import weights
from .body_watch import BodyWatch, element_types
from .graph import DEFAULT_DOMAINS, Graph, captured_names, constant_value, rename_tensors, subgraphs
from .named import follow_node, follow_tensor
from .placing import report_nodes
from .plan import Plan, TensorPlan
from .rules import within_rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from .quantizer import PlannedQDQQuantizer
    from .request import Run
    from .statistics import Statistics

LOOPS = ("If", "Loop", "Scan")

# Names that emission makes of a tensor's name; the graph around a body has the first right to them.
MADE = (
    "_scale",
    "_zero_point",
    "_quantized",
    "_quantized_scale",
    "_quantized_zero_point",
    "_QuantizeLinear",
    "_QuantizeLinear_Input",
    "_QuantizeLinear_Output",
    "_DequantizeLinear",
    "_DequantizeLinear_Output",
)


def is_enabled(run: Run) -> bool:
    """Whether bodies are to be quantized."""
    return bool(run.options["EnableSubgraph"])


def inner_nodes(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    """All nodes inside the bodies of these nodes."""
    for node in nodes:
        for body in subgraphs(node):
            yield from body.node
            yield from inner_nodes(body.node)


def watch(run: Run, model: ModelProto, outside: Iterable[str]) -> BodyWatch:
    """The model with counters in its bodies, where EnableSubgraph asks for it; ``outside`` is counted elsewhere."""
    return BodyWatch(model, outside, enabled=is_enabled(run))


# ---------------------------------------------------------------------- settling


def settle(run: Run, graph: Graph) -> None:
    """Give bodies what planning needs: names that no other graph has, constants as initializers, types of inputs."""
    if not is_enabled(run):
        return
    types = {name: graph.element_type(name) for name in (*graph.values, *graph.initializers)}
    taken = {*types, *(name for node in graph for name in (node.name, *node.output))}
    for node in graph:
        _settle(run, graph, node, types, taken)


def _settle(run: Run, graph: Graph, node: NodeProto, types: Mapping[str, int], taken: set[str]) -> None:
    for body in subgraphs(node):
        _type_inputs(node, body, types)
        _unique_names(run, graph, body, taken)
        _constants(body)
        inner = element_types(body, types)
        for each in body.node:
            _settle(run, graph, each, inner, taken)


def _type_inputs(node: NodeProto, body: GraphProto, types: Mapping[str, int]) -> None:
    """An untyped input of a Loop's body has the type of what the Loop passes to it."""
    if node.op_type != "Loop":
        return
    given = [TensorProto.INT64, TensorProto.BOOL, *(types.get(name, 0) for name in node.input[2:])]
    for value, kind in zip(body.input, given, strict=False):
        if not value.type.WhichOneof("value") and kind:
            value.type.tensor_type.elem_type = kind


def _unique_names(run: Run, graph: Graph, body: GraphProto, taken: set[str]) -> None:
    """Names of tensors and nodes that no graph of the model has twice; equal ones in two branches part here."""

    def own(name: str) -> str:
        name = graph.unique(name) if name in taken else name
        taken.add(name)
        return name

    made = [value.name for value in body.input] + [tensor.name for tensor in body.initializer]
    made += [name for node in body.node for name in node.output if name]
    names = {name: own(name) for name in dict.fromkeys(made)}
    moved = {old: new for old, new in names.items() if old != new}
    rename_tensors(body, moved)
    for old, new in moved.items():
        follow_tensor(run, old, old, new)
    for node in body.node:
        old = node.name
        node.name = own(old or f"{node.op_type}_{next(filter(None, node.output), '')}")
        if old != node.name:
            follow_node(run, old, old, node.name)


def _constants(body: GraphProto) -> None:
    """Constant nodes of numbers become initializers; outputs of the body stay."""
    outputs = {value.name for value in body.output}
    kept: list[NodeProto] = []
    for node in body.node:
        is_constant = node.op_type == "Constant" and node.domain in DEFAULT_DOMAINS
        value = constant_value(node) if is_constant and node.output[0] not in outputs else None
        if value is None or value.dtype.kind not in "fiub":
            kept.append(copy.deepcopy(node))
        else:
            body.initializer.append(numpy_helper.from_array(np.asarray(value, order="C"), node.output[0]))
    if len(kept) < len(body.node):
        del body.node[:]
        body.node.extend(kept)


# ---------------------------------------------------------------------- quantizing


def run_for(run: Run, graph: Graph) -> Run:
    """The run with those TensorQuantOverrides that name no tensor of a body."""
    overrides = run.options["TensorQuantOverrides"]
    if not is_enabled(run) or not overrides:
        return run
    inside = {name for node in inner_nodes(graph) for name in (*node.output, *node.input)}
    return _with_overrides(run, {k: v for k, v in overrides.items() if k not in inside or _has(graph, k)})


def _has(graph: Graph, name: str) -> bool:
    return name in graph.values or name in graph.initializers


def _with_overrides(run: Run, overrides: Mapping[str, Any]) -> Run:
    changed = copy.copy(run)
    changed.options = run.options.changed({"TensorQuantOverrides": dict(overrides)})
    return changed


class BodyQuantizer:
    """Quantizes every body of a graph in place."""

    def __init__(self, run: Run, statistics: Statistics) -> None:
        ran = {name: sketch for name, sketch in statistics.items() if sketch.count or any(sketch.non_finite)}
        self.run, self.statistics = run, replace(statistics, sketches=ran)

    def quantize(self, graph: Graph, plan: Plan) -> None:
        """The bodies of ``graph``, whose own plan is ``plan`` and not yet written."""
        if is_enabled(self.run):
            self._bodies(graph, plan, _names(graph))

    def _bodies(self, graph: Graph, plan: Plan, taken: set[str]) -> None:
        owners = [node for node in graph if node.op_type in LOOPS and node.domain in DEFAULT_DOMAINS]
        if not owners:
            return
        taken = taken | {tensor.name + suffix for tensor in plan for suffix in MADE}
        for node in owners:
            # What the bodies capture is part of the index: take the node out of it while they change.
            graph.remove(node)
            for body in subgraphs(node):
                reason = self._refusal(node, body)
                if reason is None:
                    taken |= self._body(graph, plan, body, taken)
                else:
                    for each in (*body.node, *inner_nodes(body.node)):
                        self.run.report.left_float[each.name] = f"{each.op_type}: {reason}"
            graph.add(node)
        graph.reserve(taken & _names(graph))

    def _refusal(self, node: NodeProto, body: GraphProto) -> str | None:
        if node.name in self.run.request.nodes_to_exclude:
            return f"inside {node.name}, which is in nodes_to_exclude"
        if node.name in self.run.excluded:
            return f"inside {node.name}, which is {self.run.excluded[node.name]}"
        selected = [each for each in (*body.node, *inner_nodes(body.node)) if self.run.refusal(each) is None]
        made = [name for each in selected for name in each.output]
        if made and not any(name in self.statistics for name in made):
            return f"this body of {node.name} never ran in calibration"
        return None

    def _body(self, outer: Graph, outer_plan: Plan, body: GraphProto, taken: set[str]) -> set[str]:
        """Quantize one body; returns the names in it."""
        inner, captured = _inner_graph(outer, body)
        inner.reserve(taken)
        overrides = self.run.options["TensorQuantOverrides"] or {}
        run = _with_overrides(self.run, {name: value for name, value in overrides.items() if _has(inner, name)})
        quantizer: PlannedQDQQuantizer = self.run.format.quantizer(run, inner, self.statistics)
        plan = quantizer.plan()
        for name in captured:
            _as_outside(plan, outer_plan, name)
        plan = within_rules(run, plan)
        report_nodes(run, plan, quantizer)
        self._bodies(inner, plan, taken)
        model = quantizer.emit(plan)
        _take_over(outer, body, model)
        return _names(Graph(model, copy=False))


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
        weights.fill_tensor(tensor)  # nobody can hand a body's constants to onnxruntime
    body.CopyFrom(model.graph)
    del body.initializer[:]
    body.initializer.extend(constants)
    known = {entry.domain for entry in outer.model.opset_import}
    outer.model.opset_import.extend(entry for entry in model.opset_import if entry.domain not in known)
