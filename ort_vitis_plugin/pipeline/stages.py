"""The stages of a call, in the order in which they run: each is timed, and observers see what it made."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial, wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from onnx import ModelProto

from .. import custom_ops
from ..calibration.statistics import Statistics
from ..data_readers import adapt_feed, adapter_to
from ..graph import Graph, subgraphs
from ..onnx_io import external_weights
from ..onnx_io.load import load_aside
from ..onnx_io.save import model_size
from ..onnx_io.sessions import register_all
from ..plan import Plan
from ..plugin.declarations import Stage
from ..request.renames import kept_names
from ..request.settings import Run
from ..selection.pattern_hits import resolve_nodes, resolve_tensors
from ..selection.requested_nodes import select
from . import subgraphs as bodies
from .bias_correction import correct_biases
from .calibrate import exact_errors, keep_ranges, obtain, stored_ranges
from .canonical_form import canonical_form
from .fixed_shapes import fix_shapes
from .hardware_rules import within_rules
from .inputs import libraries_of, samples_of
from .node_placement import report_nodes
from .optimize import infer_shapes, optimize
from .preprocess import preprocess
from .self_check import check_result
from .validation import check_floats, check_weights

if TYPE_CHECKING:
    from ..planning.marker import PlannedQDQQuantizer

P = ParamSpec("P")
T = TypeVar("T")


def stage(step: Callable[Concatenate[Run, P], T]) -> Callable[Concatenate[Run, P], T]:
    """Time a stage and tell the observers what it made."""

    @wraps(step)
    def timed(run: Run, /, *args: P.args, **kwargs: P.kwargs) -> T:
        start = time.perf_counter()
        value = step(run, *args, **kwargs)
        run.report.seconds[step.__name__] = time.perf_counter() - start
        run.catalog.manager.hook.vitis_stage_done(stage=step.__name__, run=run, value=value)
        return value

    return timed


@stage
def load(run: Run) -> ModelProto:
    """The caller's model, whole and in a message of its own, and the reader of its samples."""
    model = canonical_form(load_aside(run.request.model))
    if run.call.fix_shapes:
        model = fix_shapes(model, run.call.fix_shapes)
    run.report.float_bytes = model_size(model) + external_weights.size(model)
    run.libraries = libraries_of(run, model)
    run.samples = samples_of(run, model)
    return model


@stage
def normalize(run: Run, model: ModelProto) -> Graph:
    """The graph as exporters leave it becomes one that rules can read: names, constants, opset, functions settled."""
    for step in run.catalog.model_transforms():
        model = step(model, run)
    if run.call.preprocess:
        model = external_weights.externalize(preprocess(external_weights.internalized(model)))
    graph = Graph(infer_shapes(model), copy=False)
    graph.kept = kept_names(run)
    resolve_nodes(graph, run)
    known = {node.name for node in graph}
    _transform(run, graph, Stage.NORMALIZE)
    select(graph, run, known)
    prepared = optimize(run, graph) if run.call.optimize_model else infer_shapes(graph.write_back())
    return _carry_over(graph, Graph(prepared, copy=False))


@stage
def prepare(run: Run, graph: Graph) -> Graph:
    """The float graph, made easier to quantize."""
    if _transform(run, graph, Stage.PREPARE):
        graph = _carry_over(graph, Graph(infer_shapes(graph.write_back()), copy=False))
    bodies.unique_names(run, graph)
    resolve_tensors(graph, run)
    return graph


@stage
def calibrate(run: Run, graph: Graph) -> Statistics:
    """Run the samples; of every tensor that may be quantized only its exact sketch is kept."""
    check_floats(graph, run)
    check_weights(graph, run)
    collector = run.method.collector(run) if run.method.collector is not None else None
    model = graph.write_back()
    run.samples.adapters.append(adapter_to(model))
    if (known := stored_ranges(run, graph)) is not None:
        return known
    calibration = obtain(run, graph, model, register_all(run.libraries), collector)
    for found in calibration.non_finite:
        run.report.non_finite[f"{found.tensor} in sample {found.sample}"] = (
            f"{found.nans} NaN, {found.infinities} Inf left out"
        )
    statistics = Statistics(calibration.sketches, calibration.samples, collector)
    if run.request.calibration is None:
        statistics.exact = exact_errors(run, model, statistics, register_all(run.libraries))
    keep_ranges(run, graph, statistics)
    return statistics


@stage
def simulate(run: Run, graph: Graph) -> Graph:
    """The float graph, computing what the device computes; tensor names are kept."""
    if _transform(run, graph, Stage.AFTER_CALIBRATION) + _transform(run, graph, Stage.SIMULATE):
        graph = _carry_over(graph, Graph(infer_shapes(graph.write_back()), copy=False))
    return graph


@stage
def make_plan(run: Run, quantizer: PlannedQDQQuantizer) -> Plan:
    """Which tensors, which scale, who shares with whom."""
    return quantizer.plan()


@stage
def correct(run: Run, plan: Plan) -> Plan:
    """Biases take back the mean error of rounded weights."""
    run.report.transforms["BiasCorrection"] = correct_biases(run, plan, [register_all(run.libraries)])
    return plan


@stage
def adjust(run: Run, plan: Plan) -> Plan:
    """Positions of least squared error within every enabled rule of the target."""
    return within_rules(run, plan)


@stage
def emit(run: Run, quantizer: PlannedQDQQuantizer, plan: Plan) -> ModelProto:
    """Quantize and dequantize nodes appear here, and only here."""
    report_nodes(run, plan, quantizer)
    return quantizer.emit(plan)


@stage
def finish(run: Run, model: ModelProto, plan: Plan) -> ModelProto:
    """Functions of our ops, the opset imports in use, and who made the file."""
    custom_ops.add_functions(model)
    used = {node.domain for node in model.graph.node} | {"", "ai.onnx"}
    used |= {node.domain for function in model.functions for node in function.node}
    used |= {function.domain for function in model.functions}
    for index in reversed(range(len(model.opset_import))):
        if model.opset_import[index].domain not in used and not _has_subgraphs(model):
            del model.opset_import[index]
    from .. import __version__

    model.producer_name, model.producer_version = "ort_vitis_plugin", __version__
    run.report.quantized_bytes = model_size(model) + external_weights.size(model)
    return model


@stage
def check(run: Run, model: ModelProto, original: ModelProto, pairs: ModelProto | None = None) -> ModelProto:
    """Checker, load, one run against float; ``pairs`` is a model of quantized operators before they were fused."""
    if run.call.self_check:
        feeds = run.samples.some()
        check_result(
            original,
            model,
            feeds,
            run.report,
            pairs=pairs,
            adapt=partial(adapt_feed, model),
            libraries=[custom_ops.register, register_all(run.libraries)],
        )
    return model


def _transform(run: Run, graph: Graph, stage: Stage) -> int:
    total = 0
    for step in run.catalog.transforms(stage, run.lineage):
        if run.enabled(step) and (step.option is None or run.switched_on(step.option)):
            done = step(graph, run)
            if done:
                run.report.transforms[step.key] = run.report.transforms.get(step.key, 0) + done
            total += done
    run.report.skips.extend(graph.skips)
    graph.skips.clear()
    return total


def _carry_over(old: Graph, new: Graph) -> Graph:
    new.device_output.update(old.device_output)
    new.device_nodes |= old.device_nodes
    new.simulated_node.update(old.simulated_node)
    new.kept = old.kept
    return new


def _has_subgraphs(model: ModelProto) -> bool:
    return any(any(subgraphs(node)) for node in model.graph.node)
