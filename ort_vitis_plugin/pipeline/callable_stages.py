"""The stages of a call, each to be called alone: models, statistics, plans and settings go in and come out.

settings = settings_for(extra_options={"Preset": "ipu_cnn"})
model, settings = prepare(model, settings)
statistics = observe(model, samples, settings)
written = emit(solve(plan(model, statistics, settings)))

These are the stages of ``quantize_static``: so called, without corrections and the self-check, they give its bytes.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..data_readers import Samples
from ..emission.emitter import Emitter
from ..foreign import public
from ..graph import Graph
from ..planning.marker import Marker
from ..request.call import Call
from ..request.ledger import Ledger
from . import stages, subgraphs
from .inputs import libraries_of

if TYPE_CHECKING:
    from onnx import ModelProto

    from ..calibration.statistics import Statistics
    from ..plan import Plan
    from ..plan.marks import Marks
    from ..report.report import Report
    from ..request.settings import Settings


@dataclass(frozen=True)
class PlannedModel:
    """A plan with what it was made from. ``plan.graph`` is the graph that ``emit`` writes; it can be written once."""

    plan: Plan
    settings: Settings
    statistics: Statistics
    call: Call
    marks: Marks

    @property
    def report(self) -> Report:
        """What planning, solving and writing found."""
        return self.call.report


@public
def prepare(model: ModelProto, settings: Settings) -> tuple[ModelProto, Settings]:
    """The float model, normalized, optimized and prepared, and the settings by the names that it uses.

    The argument is not changed. What input_nodes and output_nodes leave float is then in nodes_to_exclude.

    Raises:
        ModelError: the model is not valid, or cannot be raised to the opset that it needs.
        UnknownNameError: the request names a node that the model does not have.
    """
    settings = replace(settings, request=replace(settings.request, model=model))
    call = Call(settings, Ledger.opened(settings))
    graph = stages.prepare(call, stages.normalize(call, stages.load(call)))
    excluded = tuple(dict.fromkeys((*call.request.nodes_to_exclude, *call.ledger.excluded)))
    followed = replace(settings, request=replace(call.request, nodes_to_exclude=excluded), options=call.options)
    return graph.to_model(), followed


@public
def observe(model: ModelProto, samples: Any, settings: Settings) -> Statistics:
    """A sketch of every tensor of a prepared model that may be quantized, over all samples.

    ``samples`` is what ``quantize_static`` takes as calibration_data_reader; each maps names of the model's inputs to
    arrays of their shapes.

    Raises:
        CalibrationError: a sample does not fit the model.
    """
    call = Call(settings, Ledger.opened(settings))
    call.ledger.libraries = libraries_of(call, model)
    call.ledger.samples = Samples(samples, model)
    return stages.calibrate(call, Graph(model))


@public
def plan(model: ModelProto, statistics: Statistics, settings: Settings) -> PlannedModel:
    """Which tensors of a prepared model get codes, of which scale, and who shares with whom; rules are not kept yet."""
    call = Call(settings, Ledger.opened(settings))
    call.ledger.statistics = statistics
    call.ledger.libraries = libraries_of(call, model)
    graph = Graph(model)
    graph.kept, graph.renames = call.kept_names(), call.ledger.renames
    graph = stages.simulate(call, graph)
    marker = (settings.format.marker or Marker)(graph, subgraphs.call_for(call, graph))
    return PlannedModel(stages.make_plan(call, marker, statistics), settings, statistics, call, marker.marks)


@public
def solve(planned: PlannedModel) -> PlannedModel:
    """The plan with positions of least error within every rule of the target that is on; moves are in the report."""
    return replace(planned, plan=stages.adjust(planned.call, planned.plan))


@public
def emit(planned: PlannedModel) -> ModelProto:
    """The quantized model, bodies of If, Loop and Scan included; not checked."""
    call, plan = planned.call, planned.plan
    subgraphs.BodyQuantizer(call, planned.statistics).quantize(plan.graph, plan)
    emitter = Emitter(plan, planned.marks, planned.settings.format.writer(call, plan.graph))
    return stages.finish(call, stages.emit(call, emitter), plan)
