"""The route of the data, top to bottom: model in, quantized model out."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..data_readers import adapter_to
from ..errors import UnsupportedError
from ..graph import Graph
from ..onnx_io import external_weights
from ..onnx_io.sessions import register_all
from ..options.request import Request
from ..request.settings import Run
from . import subgraphs
from .calibrate import float_tensors, observe_samples
from .reduce_range_retry import is_worth_it, may_spare_a_bit, note_saturated, note_spared
from .stages import adjust, calibrate, check, correct, emit, finish, load, make_plan, normalize, prepare, simulate
from .validation import AlreadyQuantizedWarning, check_request, is_quantized

if TYPE_CHECKING:
    from onnx import ModelProto

    from ..calibration import Calibration
    from ..calibration.statistics import Statistics
    from ..planning.marker import PlannedQDQQuantizer
    from ..plugin.catalog import Catalog


@external_weights.external_weights_scope()
def prepare_only(request: Request, catalog: Catalog) -> ModelProto:
    """The float model as this request prepares it."""
    run = Run(request, catalog)
    return external_weights.internalize(prepare(run, normalize(run, load(run))).write_back())


@external_weights.external_weights_scope()
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


@external_weights.external_weights_scope()
def quantize(request: Request, catalog: Catalog) -> tuple[ModelProto, Run]:
    """The quantized model, and the run that made it."""
    run = Run(request, catalog)
    check_request(run)
    original = load(run)
    if handed_back(run, original):
        return external_weights.internalize(original), run
    model, statistics = answer(run, original)
    if may_spare_a_bit(run):
        again = Run(replace(request, reduce_range=True), catalog)
        again.samples, again.libraries = run.samples, run.libraries
        spared, _ = answer(again, original, statistics)
        if is_worth_it(run.report, again.report):
            note_spared(again.report, run.report)
            return external_weights.internalize(spared), again
    note_saturated(run.report)
    return external_weights.internalize(model), run


def answer(run: Run, original: ModelProto, statistics: Statistics | None = None) -> tuple[ModelProto, Statistics]:
    """Model -> prepared model -> statistics (unless known) -> plan -> adjusted plan -> quantized model."""
    graph = prepare(run, normalize(run, original))
    if statistics is None:
        statistics = calibrate(run, graph)
    run.statistics = statistics
    graph = simulate(run, graph)
    quantizer: PlannedQDQQuantizer = run.format.quantizer(subgraphs.run_for(run, graph), graph, statistics)
    plan = make_plan(run, quantizer)
    if run.call.bias_correction:
        plan = correct(run, plan)
    plan = adjust(run, plan)
    subgraphs.BodyQuantizer(run, statistics).quantize(graph, plan)
    model = emit(run, quantizer, plan)
    return check(run, finish(run, model, plan), original, quantizer.pairs), statistics


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
