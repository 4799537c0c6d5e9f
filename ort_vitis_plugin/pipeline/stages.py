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
from ..emission.provenance import record
from ..graph import Graph, subgraphs
from ..graph.nodes import DEFAULT_DOMAINS
from ..onnx_io import external_weights
from ..onnx_io.load import load_aside
from ..onnx_io.model_hash import model_hash
from ..onnx_io.save import model_size
from ..onnx_io.sessions import register_all
from ..plan import Plan
from ..planning.changed_constants import change_constant
from ..planning.planner import Planner
from ..plugin.declarations import LeaveFloat, Stage
from ..plugin.op_functions import define_ops
from ..report.verdict import PREPARED, SIMULATED
from ..request.call import Call
from ..request.provenance_facts import facts
from ..request.weight_blocks import BITS_OF
from ..selection.node_types import NodeTypes
from ..selection.pattern_hits import resolve_nodes, resolve_tensors
from ..selection.requested_nodes import select
from ..selection.rules import apply_leave_float
from ..selection.stated_by_node import StatedByNode
from . import subgraphs as bodies
from .calibrate import exact_errors, keep_ranges, obtain, stored_ranges
from .calibrater_feed import calibrater_beside
from .canonical_form import canonical_form
from .corrections import apply_correction, enabled_corrections
from .fixed_shapes import fix_shapes
from .hardware_rules import within_rules
from .inputs import CHECKED_SAMPLES, libraries_of, samples_of, warn_of_random_data
from .memory_estimate import check_memory
from .node_placement import report_nodes
from .optimize import infer_shapes, optimize
from .preprocess import preprocess
from .recipe import decided_ranges
from .self_check import check_result
from .tensor_stories import tell_tensors
from .unknown_types import with_default_types
from .validation import check_floats, check_overrides, check_weights
from .weight_only import with_block_weights
from .written_plan import carry_over

if TYPE_CHECKING:
    from collections.abc import Iterator

    import onnxruntime as ort

    from ..emission.emitter import Emitter
    from ..planning.marker import Marker

P = ParamSpec("P")
T = TypeVar("T")


def stage(step: Callable[Concatenate[Call, P], T]) -> Callable[Concatenate[Call, P], T]:
    """Time a stage and tell the observers what it made."""

    @wraps(step)
    def timed(call: Call, /, *args: P.args, **kwargs: P.kwargs) -> T:
        start = time.perf_counter()
        value = step(call, *args, **kwargs)
        call.report.seconds[step.__name__] = time.perf_counter() - start
        _tell(call, step.__name__, value)
        return value

    return timed


def _tell(call: Call, stage: str, value: object) -> None:
    """Observers that take the value get models with their weights in them; for others none is made."""
    hook = call.catalog.manager.hook.vitis_stage_done
    if isinstance(value, ModelProto) and any("value" in observer.argnames for observer in hook.get_hookimpls()):
        value = external_weights.internalized(value)
    hook(stage=stage, context=call, value=value, run=call)


def remember(call: Call, given: ModelProto) -> None:
    """Write down which model the caller's is."""
    call.ledger.float_hash = model_hash(given)
    call.ledger.metadata = frozenset(entry.key for entry in given.metadata_props)


@stage
def load(call: Call) -> ModelProto:
    """The caller's model, whole and in a message of its own, and the reader of its samples."""
    given = load_aside(call.request.model)
    remember(call, given)
    model = canonical_form(given)
    if call.call.fix_shapes:
        model = fix_shapes(model, call.call.fix_shapes)
    call.report.float_bytes = model_size(model) + external_weights.size(model)
    call.ledger.libraries = libraries_of(call, model)
    call.ledger.samples = samples_of(call, model)
    return model


@stage
def normalize(call: Call, model: ModelProto) -> Graph:
    """The graph as exporters leave it becomes one that rules can read: names, constants, opset, functions settled."""
    for step in call.catalog.model_transforms():
        model = step(model, call)
    if call.call.preprocess:
        model = external_weights.externalize(preprocess(external_weights.internalized(model)))
    inferred = infer_shapes(model)
    check_memory(call, inferred)
    graph = with_default_types(Graph(inferred, copy=False), call)
    graph.kept, graph.renames = call.kept_names(), call.ledger.renames
    resolve_nodes(graph, call)
    NodeTypes(graph, call.settings, call.ledger).check()
    if call.settings.weight_blocks is not None:
        StatedByNode(graph, call.settings.weight_blocks.bits_of, BITS_OF, call.ledger).check()
    known = {node.name for node in graph}
    _transform(call, graph, Stage.NORMALIZE)
    select(graph, call, known)
    prepared = optimize(call, graph) if call.call.optimize_model else infer_shapes(graph.write_back())
    return carry_over(graph, Graph(prepared, copy=False))


@stage
def prepare(call: Call, graph: Graph) -> Graph:
    """The float graph, made easier to quantize."""
    if _transform(call, graph, Stage.PREPARE):
        graph = carry_over(graph, Graph(infer_shapes(graph.write_back()), copy=False))
    bodies.unique_names(call, graph)
    resolve_tensors(graph, call)
    return graph


@stage
def calibrate(call: Call, graph: Graph) -> Statistics:
    """Run the samples; of every tensor that may be quantized only its exact sketch is kept."""
    check_floats(graph, call)
    check_weights(graph, call)
    check_overrides(graph, call)
    warn_of_random_data(call)
    collector = call.method.started_collector(call.settings)
    model = graph.write_back()
    call.samples.constants = call.samples.overridable - {value.name for value in model.graph.input}
    call.samples.adapters.append(adapter_to(model))
    if call.request.reader is None and call.request.calibration is None and not call.settings.needs_data:
        return Statistics()
    if (known := stored_ranges(call, graph)) is not None:
        return known
    with calibrater_beside(call, model) as beside:
        calibration = obtain(call, graph, model, register_all(call.libraries), collector, beside)
        ranges = {} if beside is None else beside.ranges(calibration.sketches)
    for found in calibration.non_finite:
        call.report.non_finite[f"{found.tensor} in sample {found.sample}"] = (
            f"{found.nans} NaN, {found.infinities} Inf left out"
        )
    statistics = Statistics(calibration.sketches, calibration.samples, collector, ranges=ranges)
    statistics.energies = {channels: squares.mean() for channels, squares in calibration.energies.items()}
    if call.request.calibration is None:
        statistics.exact = exact_errors(call, model, statistics, register_all(call.libraries))
    keep_ranges(call, graph, statistics)
    for name in sorted(call.samples.left_out):
        call.note(f"samples feed {name}, whose default RemoveInputInit made a constant; RemoveInputInit=False keeps it")
    return statistics


@stage
def simulate(call: Call, graph: Graph) -> Graph:
    """The float graph, computing what the device computes; tensor names are kept."""
    if _transform(call, graph, Stage.AFTER_CALIBRATION) + _transform(call, graph, Stage.SIMULATE):
        graph = carry_over(graph, Graph(infer_shapes(graph.write_back()), copy=False))
    return graph


@stage
def decide(call: Call, float_graph: Graph, graph: Graph, statistics: Statistics) -> Statistics:
    """What samples held out say of the ways in which weights may be rounded."""
    return decided_ranges(call, float_graph, graph, statistics)


@stage
def make_plan(call: Call, marker: Marker, statistics: Statistics) -> Plan:
    """Which tensors, which scale, who shares with whom."""
    return Planner(marker.marks, statistics, marker.settings, call.ledger).plan()


@stage
def correct(call: Call, plan: Plan, float_graph: Graph) -> Plan:
    """Constants take back what rounding did, by every correction that is on."""
    statistics = call.statistics
    if statistics is not None and statistics.constants is not None:
        for name, values in statistics.constants.items():
            change_constant(plan, name, values, call)
        return plan
    for correction in enabled_corrections(call):
        call.report.transforms[correction.key] = apply_correction(call, correction, plan, float_graph)
    return plan


@stage
def adjust(call: Call, plan: Plan) -> Plan:
    """Positions of least squared error within every enabled rule of the target."""
    return within_rules(call, plan)


@stage
def emit(call: Call, emitter: Emitter) -> ModelProto:
    """Quantize and dequantize nodes appear here, and only here."""
    report_nodes(call, emitter.plan, emitter.marks)
    tell_tensors(call, emitter.plan, emitter.marks)
    return emitter.emit(call.report.skips)


@stage
def store_weights(call: Call, model: ModelProto) -> ModelProto:
    """Weights that WeightOnly asks for, in blocks of few bits."""
    return with_block_weights(call, model)


@stage
def finish(call: Call, model: ModelProto, plan: Plan) -> ModelProto:
    """Functions of our ops, the opset imports in use, and who made the file."""
    define_ops(model, call.catalog)
    used = {node.domain for node in model.graph.node} | set(DEFAULT_DOMAINS)
    used |= {node.domain for function in model.functions for node in function.node}
    used |= {function.domain for function in model.functions}
    for index in reversed(range(len(model.opset_import))):
        if model.opset_import[index].domain not in used and not _has_subgraphs(model):
            del model.opset_import[index]
    from .. import __version__

    model.producer_name, model.producer_version = "ort_vitis_plugin", __version__
    record(model, facts(call, __version__), kept=call.ledger.metadata)
    call.report.quantized_bytes = model_size(model) + external_weights.size(model)
    _note_size(call, plan)
    return model


# A choice: below 64 KiB nobody asks for a smaller file.
LEAST_TOLD = 2**16


def _note_size(call: Call, plan: Plan) -> None:
    """Say why a file is no smaller than the float one."""
    share = call.report.quantized_bytes / max(call.report.float_bytes, 1)
    if share < 1 or not plan or call.report.float_bytes < LEAST_TOLD:
        return
    keeps = call.format.writer(call, plan.graph).keeps_float_weights(call.weight)
    why = "this format keeps weights as floats in front of their pairs" if keeps else "a small model gains pairs only"
    call.note(f"the file has {share:.0%} of the float model's bytes: {why}; devices store codes")


@stage
def check(call: Call, model: ModelProto, original: ModelProto, pairs: ModelProto | None = None) -> ModelProto:
    """Checker, load, one run against float; ``pairs`` is a model of quantized operators before they were fused."""
    if call.call.self_check:
        feeds = call.samples.some(CHECKED_SAMPLES)
        stages = {stage: call.ledger.on_the_way[stage] for stage in call.ledger.changing}
        noted = len(call.report.notes)
        check_result(
            original,
            model,
            feeds,
            call.report,
            pairs=pairs,
            adapt=partial(adapt_feed, model),
            libraries=[*_own_library(original, model, pairs, *stages.values()), register_all(call.libraries)],
            stages=stages,
            changing=call.ledger.changing,
        )
        call.ledger.measured = call.report.notes[noted:]
    return model


def _own_library(*models: ModelProto | None) -> Iterator[Callable[[ort.SessionOptions], object]]:
    """Sessions of models without our operators do not get them: of a small model they are half the time of loading."""
    if any(model is not None and custom_ops.imports_ours(model) for model in models):
        yield custom_ops.register


_REACHES = {
    Stage.NORMALIZE: PREPARED,
    Stage.PREPARE: PREPARED,
    Stage.AFTER_CALIBRATION: SIMULATED,
    Stage.SIMULATE: SIMULATED,
}


def keep_on_the_way(call: Call, graph: Graph, stage: str) -> None:
    """Keep the float model as it is now, for the verdict and for advice."""
    if call.call.self_check and (call.ledger.changing.get(stage) or (stage == SIMULATED and call.call.attribution)):
        kept = ModelProto()
        kept.CopyFrom(graph.write_back())  # without the large weights, which lie aside
        call.ledger.on_the_way[stage] = kept


def _transform(call: Call, graph: Graph, stage: Stage) -> int:
    total = 0
    for step in call.catalog.steps(stage, call.lineage):
        if not call.enabled(step) or (step.option is not None and not call.settings.switched_on(step.option)):
            continue
        if isinstance(step, LeaveFloat):
            apply_leave_float(call, graph, step)
        else:
            done = step(graph, call)
            if done:
                call.report.transforms[step.key] = call.report.transforms.get(step.key, 0) + done
                if step.changes_function:
                    call.ledger.changing.setdefault(_REACHES[stage], []).append(step.key)
            total += done
    call.report.skips.extend(graph.skips)
    graph.skips.clear()
    return total


def _has_subgraphs(model: ModelProto) -> bool:
    return any(subgraphs(node) for node in model.graph.node)
