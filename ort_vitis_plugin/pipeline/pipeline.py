"""The route of the data, top to bottom: model in, quantized model out."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..calibration.statistics import Statistics
from ..data_readers import adapter_to
from ..emission.emitter import Emitter
from ..errors import ModelError, UnsupportedError
from ..graph import Graph, attribute, inner_nodes
from ..graph.subgraphs import all_nodes
from ..onnx_io import external_weights
from ..onnx_io.load import QUANTIZED_OPS
from ..onnx_io.sessions import register_all
from ..onnx_io.time_limit import time_limit
from ..options.options import OptionWarning
from ..options.ort_options import OrtOptions
from ..options.request import Request
from ..plan import Plan
from ..planning.marker import Marker
from ..report.verdict import PREPARED, SIMULATED
from ..request.call import Call
from . import subgraphs
from .advice import advise
from .calibrate import float_tensors, keep_beside_ranges, observe_samples, weight_channels
from .corrections import enabled_corrections
from .inputs import warn_of_random_data
from .judged_equalization import judged_equalization
from .reduce_range_retry import is_worth_it, may_spare_a_bit, note_saturated, note_spared
from .stages import (
    adjust,
    calibrate,
    check,
    correct,
    decide,
    emit,
    finish,
    keep_on_the_way,
    load,
    make_plan,
    normalize,
    prepare,
    simulate,
    store_weights,
)
from .validation import AlreadyQuantizedWarning, check_request, is_quantized
from .weight_only import leave_to_blocks, report_weights_alone

if TYPE_CHECKING:
    from onnx import ModelProto

    from ..calibration import Calibration
    from ..plugin.catalog import Catalog
    from ..report.report import Report


@external_weights.external_weights_scope()
def prepare_only(request: Request, catalog: Catalog, *, simulates: bool = False) -> ModelProto:
    """The float model as this request prepares it; with ``simulates`` it computes what the device computes."""
    call = Call.of(request, catalog)
    graph = prepare(call, normalize(call, load(call)))
    if simulates:
        graph = simulate(call, Graph(graph.write_back()))
    return external_weights.internalize(graph.write_back())


@external_weights.external_weights_scope()
def calibrate_only(request: Request, catalog: Catalog, **engine: Any) -> Calibration:
    """The calibration of the model as this request prepares it, of all its float tensors.

    Raises:
        UnsupportedError: ``calibration_cache_path`` is given, which keeps the ranges of one method.
    """
    call = Call.of(request, catalog)
    path = call.settings.call.calibration_cache_path
    if path is not None:
        raise UnsupportedError(
            f"calibration_cache_path={path!r} keeps the ranges of one method; calibrate() "
            "keeps what every method needs: save its result, or give the path to quantize_static"
        )
    graph = prepare(call, normalize(call, load(call)))
    warn_of_random_data(call)
    model = graph.write_back()
    call.samples.adapters.append(adapter_to(model))
    with time_limit(call.call.time_limit):
        return observe_samples(
            call,
            model,
            float_tensors(graph),
            register_all(call.libraries),
            channels=weight_channels(graph),
            **engine,
        )


@external_weights.external_weights_scope()
def quantize_model(request: Request, catalog: Catalog) -> tuple[ModelProto, Report]:
    """The quantized model, and the report of how it was made."""
    call = Call.of(request, catalog)
    check_request(call.settings)
    with time_limit(call.call.time_limit):
        return _quantized(call)


def _quantized(call: Call) -> tuple[ModelProto, Report]:
    original = load(call)
    if handed_back(call, original):
        return external_weights.internalize(original), call.report
    call = judged_equalization(call, original)
    model, statistics = quantize_once(call, original)
    warn_without_blocks(call, model)
    if may_spare_a_bit(call):
        settings = replace(call.settings, request=replace(call.settings.request, reduce_range=True))
        again = Call(settings, call.ledger.next_answer(settings))
        spared, _ = quantize_once(again, original, statistics)
        if is_worth_it(call.report, again.report):
            note_spared(again.report, call.report, call.ledger.measured)
            _advise(again, original, spared, statistics)
            return external_weights.internalize(spared), again.report
    note_saturated(call.report)
    note_nothing(call, model)
    _advise(call, original, model, statistics)
    return external_weights.internalize(model), call.report


def quantize_once(
    call: Call, original: ModelProto, statistics: Statistics | None = None
) -> tuple[ModelProto, Statistics]:
    """Model -> prepared model -> statistics (unless known) -> plan -> adjusted plan -> quantized model."""
    graph = prepare(call, normalize(call, original))
    decided = statistics is not None
    if call.settings.weights_alone:
        report_weights_alone(call, graph)
        model = store_weights(call, graph.write_back())
        return check(call, finish(call, model, Plan(graph)), original), Statistics()
    if call.settings.weight_blocks is not None:
        leave_to_blocks(call, graph)
    keep_on_the_way(call, graph, PREPARED)
    if statistics is None:
        statistics = calibrate(call, graph)
    call.ledger.statistics = statistics
    float_graph = Graph(graph.write_back())
    graph = simulate(call, graph)
    keep_on_the_way(call, graph, SIMULATED)
    if not decided:
        statistics = decide(call, float_graph, graph, statistics)
    call.ledger.statistics = statistics
    corrects = bool(enabled_corrections(call))
    marker = (call.format.marker or Marker)(graph, subgraphs.call_for(call, graph))
    plan = make_plan(call, marker, statistics)
    constants = dict(graph.initializers)
    if corrects or statistics.constants:
        plan = correct(call, plan, float_graph)
    call.ledger.judge = call.ledger.judged = None
    if not decided and statistics.constants is None:
        keep_beside_ranges(call, plan, constants)
    plan = adjust(call, plan)
    subgraphs.BodyQuantizer(call, statistics).quantize(graph, plan)
    emitter = Emitter(plan, marker.marks, call.format.writer(call, graph))
    model = emit(call, emitter)
    pairs = emitter.qdq_model if emitter.qdq_model is not model else None
    if call.settings.weight_blocks is not None:
        model = store_weights(call, model)
    return check(call, finish(call, model, plan), original, pairs), statistics


def note_nothing(call: Call, model: ModelProto) -> None:
    """Say so where the written model is as float as the one that came."""
    quantizes = QUANTIZED_OPS | {node.op_type for node in model.graph.node if "QuantizeDequantize" in node.op_type}
    if call.report.quantized or any(node.op_type in quantizes for node in all_nodes(model)):
        return
    inner = inner_nodes(model.graph.node)
    inside = not call.settings.quantizes_bodies and any(node.op_type in call.op_types for node in inner)
    hint = "; what could be lies inside If, Loop or Scan: set extra_options={'EnableSubgraph': True}" if inside else ""
    call.note(f"nothing of the model was quantized{hint}")


def warn_without_blocks(call: Call, model: ModelProto) -> None:
    """One OptionWarning where BlockSize is set and no weight has blocks: which are there only the model shows."""
    if call.options[OrtOptions].block_size and not any(attribute(node, "block_size", 0) for node in all_nodes(model)):
        text = "BlockSize has no effect because no weight takes blocks: matrices do whose parameters nobody states"
        warnings.warn(text, OptionWarning, stacklevel=5)


def _advise(call: Call, original: ModelProto, model: ModelProto, statistics: Statistics) -> None:
    """Where there is something to object, find out what to change; random data are no ground for it, nor are blocks of
    weights alone, which no scale of activations helps."""
    if call.settings.weights_alone:
        return
    if call.call.attribution and call.request.reader is not None and not call.report.verdict.is_good:
        try:
            call.report.verdict.advice = advise(call, original, model, statistics, quantize_once)
        except ModelError as error:  # the quantized model is there, whatever cannot be measured of it
            call.note(f"no advice: {error}")


def handed_back(call: Call, model: ModelProto) -> bool:
    """Whether the model was quantized before: a second layer of pairs would only lose accuracy."""
    if call.settings.call.quantize_quantized or not is_quantized(Graph(model, copy=False)):
        return False
    text = (
        "the model is quantized already, so it is handed back as it is; give the float model, "
        "or set extra_options={'QuantizeQuantized': True} to quantize what is left float"
    )
    warnings.warn(text, AlreadyQuantizedWarning, stacklevel=5)
    call.note(text)
    call.report.quantized_bytes = call.report.float_bytes
    return True
