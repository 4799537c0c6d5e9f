"""The route of the data, top to bottom: model in, quantized model out."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from onnx import ModelProto

from . import bodies, custom_ops, weights
from .bias_correction import correct_biases
from .calibrating import float_tensors, keep_ranges, observe_samples, obtain, settle, stored_ranges
from .calibration_ranges import range_file
from .checking import check_result, register_all
from .data_readers import RandomDataReader, Samples, adapt_feed, adapter_to
from .declarations import Stage
from .errors import UnsupportedError
from .graph import Graph
from .loading import load_aside
from .named import kept_names
from .optimization import infer_shapes, optimize
from .placing import broken_rules, off_device
from .plan import Plan
from .preprocessing import preprocess
from .request import Request, Run
from .saving import model_size
from .selection import select
from .settling import settled
from .solver import adjust_plan
from .sparing import is_worth_it, may_spare_a_bit, note_saturated, note_spared
from .statistics import Statistics
from .validation import AlreadyQuantizedWarning, check_floats, check_request, check_weights, is_quantized

if TYPE_CHECKING:
    from .calibration import Calibration
    from .catalog import Catalog
    from .plan import Bound
    from .quantizer import PlannedQDQQuantizer

CHECKED_SAMPLES = 4

P = ParamSpec("P")
T = TypeVar("T")


def _stage(step: Callable[Concatenate[Run, P], T]) -> Callable[Concatenate[Run, P], T]:
    """Time a stage and tell the observers what it made."""

    @wraps(step)
    def timed(run: Run, /, *args: P.args, **kwargs: P.kwargs) -> T:
        start = time.perf_counter()
        value = step(run, *args, **kwargs)
        run.report.seconds[step.__name__] = time.perf_counter() - start
        run.catalog.manager.hook.vitis_stage_done(stage=step.__name__, run=run, value=value)
        return value

    return timed


@weights.shelf()
def prepare_only(request: Request, catalog: Catalog) -> ModelProto:
    """The float model as this request prepares it."""
    run = Run(request, catalog)
    return weights.hand_over(prepare(run, normalize(run, load(run))).write_back())


@weights.shelf()
def calibrate_only(request: Request, catalog: Catalog, **engine: Any) -> Calibration:
    """The calibration of the model as this request prepares it, of all its float tensors."""
    run = Run(request, catalog)
    if run.call.calibration_cache_path is not None:
        raise UnsupportedError(
            f"calibration_cache_path={run.call.calibration_cache_path!r} keeps the ranges of one method; calibrate() "
            "keeps what every method needs: save its result, or give the path to quantize_static"
        )
    graph = prepare(run, normalize(run, load(run)))
    model = graph.write_back()
    run.samples.adapters.append(adapter_to(model))
    return observe_samples(run, model, float_tensors(graph), register_all(run.libraries), **engine)


@weights.shelf()
def quantize(request: Request, catalog: Catalog) -> tuple[ModelProto, Run]:
    """The quantized model, and the run that made it."""
    run = Run(request, catalog)
    check_request(run)
    original = load(run)
    if handed_back(run, original):
        return weights.hand_over(original), run
    model, statistics = answer(run, original)
    if may_spare_a_bit(run):
        again = Run(replace(request, reduce_range=True), catalog)
        again.samples, again.libraries = run.samples, run.libraries
        spared, _ = answer(again, original, statistics)
        if is_worth_it(run.report, again.report):
            note_spared(again.report, run.report)
            return weights.hand_over(spared), again
    note_saturated(run.report)
    return weights.hand_over(model), run


def answer(run: Run, original: ModelProto, statistics: Statistics | None = None) -> tuple[ModelProto, Statistics]:
    """Model -> prepared model -> statistics (unless known) -> plan -> adjusted plan -> quantized model."""
    graph = prepare(run, normalize(run, original))
    if statistics is None:
        statistics = calibrate(run, graph)
    run.statistics = statistics
    graph = simulate(run, graph)
    quantizer: PlannedQDQQuantizer = run.format.quantizer(bodies.run_for(run, graph), graph, statistics)
    plan = make_plan(run, quantizer)
    if run.call.bias_correction:
        plan = correct(run, plan)
    plan = adjust(run, plan)
    bodies.BodyQuantizer(run, statistics, within_rules, _report_nodes).quantize(graph, plan)
    model = emit(run, quantizer, plan)
    return check(run, finish(run, model, plan), original, quantizer.pairs), statistics


@_stage
def load(run: Run) -> ModelProto:
    """The caller's model, whole and in a message of its own, and the reader of its samples."""
    model = settled(load_aside(run.request.model))
    run.report.float_bytes = model_size(model) + weights.size(model)
    run.libraries = libraries_of(run, model)
    run.samples = _samples(run, model)
    return model


def handed_back(run: Run, model: ModelProto) -> bool:
    """Whether the model was quantized before: a second layer of pairs would only lose accuracy."""
    if run.call.quantize_quantized or not is_quantized(Graph(model, copy=False)):
        return False
    text = (
        "the model is quantized already, so it is handed back as it is; give the float model, "
        "or set extra_options={'QuantizeQuantized': True} to quantize what is left float"
    )
    warnings.warn(text, AlreadyQuantizedWarning, stacklevel=5)
    run.report.note(text)
    run.report.quantized_bytes = run.report.float_bytes
    return True


@_stage
def normalize(run: Run, model: ModelProto) -> Graph:
    """The graph as exporters leave it becomes one that rules can read: names, constants, opset, functions settled."""
    for step in run.catalog.model_transforms():
        model = step(model, run)
    if run.call.preprocess:
        model = weights.set_aside(preprocess(weights.filled(model)))
    graph = Graph(infer_shapes(model), copy=False)
    graph.kept = kept_names(run)
    known = {node.name for node in graph}
    _transform(run, graph, Stage.NORMALIZE)
    select(graph, run, known)
    prepared = optimize(run, graph) if run.call.optimize_model else infer_shapes(graph.write_back())
    return _carry_over(graph, Graph(prepared, copy=False))


@_stage
def prepare(run: Run, graph: Graph) -> Graph:
    """The float graph, made easier to quantize."""
    if _transform(run, graph, Stage.PREPARE):
        graph = _carry_over(graph, Graph(infer_shapes(graph.write_back()), copy=False))
    bodies.settle(run, graph)
    return graph


@_stage
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
        statistics.settled = settle(run, model, statistics, register_all(run.libraries))
    keep_ranges(run, graph, statistics)
    return statistics


@_stage
def simulate(run: Run, graph: Graph) -> Graph:
    """The float graph, computing what the device computes; tensor names are kept."""
    if _transform(run, graph, Stage.AFTER_CALIBRATION) + _transform(run, graph, Stage.SIMULATE):
        graph = _carry_over(graph, Graph(infer_shapes(graph.write_back()), copy=False))
    return graph


@_stage
def make_plan(run: Run, quantizer: PlannedQDQQuantizer) -> Plan:
    """Which tensors, which scale, who shares with whom."""
    return quantizer.plan()


@_stage
def correct(run: Run, plan: Plan) -> Plan:
    """Biases take back the mean error of rounded weights."""
    run.report.transforms["BiasCorrection"] = correct_biases(run, plan, [register_all(run.libraries)])
    return plan


@_stage
def adjust(run: Run, plan: Plan) -> Plan:
    """Positions of least squared error within every enabled rule of the target."""
    return within_rules(run, plan)


def within_rules(run: Run, plan: Plan) -> Plan:
    """The plan, moved into the bounds of all rules; what moved and what could not is in the report."""
    bounds = list(rules(run, plan))
    if bounds:
        moves, violations = adjust_plan(plan, bounds)
        run.report.moves.extend(moves)
        run.report.violations.extend(violations)
    return plan


def rules(run: Run, plan: Plan) -> Iterator[Bound]:
    """The bounds of the plan's own and of the target's rules, rule by rule in the order in which they are declared."""
    yield from plan.bounds
    if run.activation.is_wide or run.weight.is_wide or not run.method.power_of_two:
        return
    nodes = list(plan.graph.sorted())
    for rule in run.catalog.adjusters(run.lineage):
        if run.enabled(rule) and (rule.option.needs is None or run.options.get(rule.option.needs, True)):
            for node in nodes:
                if node.op_type in rule.ops:
                    yield from rule(plan, node)


@_stage
def emit(run: Run, quantizer: PlannedQDQQuantizer, plan: Plan) -> ModelProto:
    """Quantize and dequantize nodes appear here, and only here."""
    _report_nodes(run, plan, quantizer)
    return quantizer.emit(plan)


@_stage
def finish(run: Run, model: ModelProto, plan: Plan) -> ModelProto:
    """Functions of our ops, the opset imports in use, and who made the file."""
    custom_ops.add_functions(model)
    used = {node.domain for node in model.graph.node} | {"", "ai.onnx"}
    used |= {node.domain for function in model.functions for node in function.node}
    used |= {function.domain for function in model.functions}
    for index in reversed(range(len(model.opset_import))):
        if model.opset_import[index].domain not in used and not _has_subgraphs(model):
            del model.opset_import[index]
    from . import __version__

    model.producer_name, model.producer_version = "ort_vitis_plugin", __version__
    run.report.quantized_bytes = model_size(model) + weights.size(model)
    return model


@_stage
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


def libraries_of(run: Run, model: ModelProto) -> list[str]:
    """Custom-op libraries: those of plugins, those of the caller, and onnxruntime-extensions where its ops are used."""
    paths = [*run.catalog.libraries(), *(run.call.custom_op_libraries or ())]
    defined = {(function.domain, function.name) for function in model.functions}
    used = {(node.domain, node.op_type) for node in model.graph.node} - defined
    if any(domain == custom_ops.CONTRIB_DOMAIN for domain, _ in used):
        from onnxruntime_extensions import get_library_path

        paths.append(get_library_path())
    return list(dict.fromkeys(paths))


# ---------------------------------------------------------------------- inside


def _samples(run: Run, model: ModelProto) -> Samples:
    reader = run.request.reader
    if reader is None and (run.request.calibration is not None or range_file(run) is not None):
        reader = RandomDataReader(model, run.call.random_data_reader_input_shape)
    if reader is None:
        run.report.note("calibrated with random data: fit for trying out only, not for deployment")
        reader = RandomDataReader(
            model, run.call.random_data_reader_input_shape, run.call.random_data_reader_input_data_range
        )
    converts = run.call.convert_fp16_to_fp32 or run.call.convert_nchw_to_nhwc
    return Samples(reader, model, remember=CHECKED_SAMPLES, converted=converts)


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
    new.stands_for.update(old.stands_for)
    new.kept = old.kept
    return new


def _report_nodes(run: Run, plan: Plan, quantizer: PlannedQDQQuantizer) -> None:
    broken = broken_rules(plan, rules(run, plan)) if run.report.violations else {}
    for node in plan.graph:
        node = plan.graph.stands_for.get(node.name, node)
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


def _has_subgraphs(model: ModelProto) -> bool:
    from .graph import subgraphs

    return any(any(subgraphs(node)) for node in model.graph.node)
