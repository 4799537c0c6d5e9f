"""Where types need no calibration, samples held out tell whether the equalization that a preset asks for loses."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ..calibration.statistics import Statistics
from ..errors import ModelError
from ..graph import Graph
from ..planning.marker import Marker
from ..request.call import Call
from . import subgraphs
from .corrections import FEWEST, real_samples
from .held_out import held_out
from .stages import make_plan, normalize, prepare, simulate
from .written_plan import written

if TYPE_CHECKING:
    from onnx import ModelProto

    from ..measure.network_error import NetworkError
    from .held_out import HeldOut

OPTION, STEP = "IncludeCLE", "CrossLayerEqualization"
JUDGED = (
    "Recipe: cross-layer equalization is {choice}: over {samples} samples held out the error of the outputs is {now} "
    "with it and {before} without"
)


class Prepared(NamedTuple):
    """The float graph that a call of its own has prepared."""

    call: Call
    graph: Graph


def judged_equalization(call: Call, original: ModelProto) -> Call:
    """The call, or one without the equalization of its preset where samples held out are nearer to float so.

    What the caller asks for is done. Where ranges must be calibrated nothing is tried, for that would double the time.
    """
    if not _is_to_judge(call):
        return call
    chosen = _judged(call, original)
    call.samples.rewind()
    return chosen


def _judged(call: Call, original: ModelProto) -> Call:
    known = len(call.samples) or sum(1 for _ in call.samples.again())
    if known < FEWEST:
        return call
    equalized = _trial(call, original)
    if not equalized.call.report.transforms.get(STEP):
        return call
    asked = call.settings.asked or call.settings
    settings = replace(call.settings, options=call.settings.options.changed({OPTION: False}), asked=asked)
    plain = _trial(Call(settings, call.ledger), original)
    judge = held_out(plain.call, plain.graph, known)
    if judge is None:
        return call
    now, before = _error(judge, equalized), _error(judge, plain)
    loses = before is not None and (now is None or before.is_better_than(now))
    text = JUDGED.format(
        choice="left" if loses else "taken", samples=len(judge), now=_shown(now), before=_shown(before)
    )
    call.note(text)
    call.ledger.judge = judge
    return Call(settings, call.ledger) if loses else call


def _is_to_judge(call: Call) -> bool:
    settings = call.settings
    if not settings.call.include_cle or OPTION not in settings.request.by_preset or settings.call.recipe != "auto":
        return False
    return not settings.needs_data and real_samples(call) and not call.samples.is_read_once


def _trial(call: Call, original: ModelProto) -> Prepared:
    """The model as a call prepares it, of which that call knows nothing."""
    trial = Call(call.settings, call.ledger.next_answer(call.settings))
    graph = prepare(trial, normalize(trial, original))
    trial.samples.constants = trial.samples.overridable - {value.name for value in graph.write_back().graph.input}
    return Prepared(trial, graph)


def _error(judge: HeldOut, trial: Prepared) -> NetworkError | None:
    """How far a trial's model is from float once it is quantized; None where onnxruntime does not run it."""
    call = trial.call
    call.ledger.statistics = statistics = Statistics()
    graph = simulate(call, trial.graph)
    marker = (call.format.marker or Marker)(graph, subgraphs.call_for(call, graph))
    model = written(make_plan(call, marker, statistics), call)
    try:
        return judge.error_of(model)
    except ModelError:
        return None


def _shown(error: NetworkError | None) -> str:
    return "unknown, for onnxruntime does not run it," if error is None else f"{error.mean:.3g} of float"
