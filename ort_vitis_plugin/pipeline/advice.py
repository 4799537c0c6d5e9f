"""What to change is found by trying: the statistics are there, so a trial costs a plan and a run of few samples.

Where a step changed the float function most, the step is switched off; where an override states a range that hurts, it
is left out; then follow the switches that help the kind of tensor that loses most by itself, and at last it stays float
with the nodes around it.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import time
import warnings
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from ..calibration.statistics import Statistics
from ..errors import QuantizationError
from ..graph import Graph
from ..graph.op_sets import CLAMP_OPS, MOVES, WITH_BIAS
from ..measure.judge import Judge
from ..measure.layer_errors import layer_errors
from ..measure.verdict import LOUD
from ..numerics.qtypes import PowerOfTwoMethod
from ..onnx_io.sessions import register_all
from ..options.ort_options import OrtOptions
from ..plugin.declarations import Transform
from ..plugin.entries import full_name
from ..report.verdict import PREPARED, QUANTIZED, SIMULATED, Advice
from ..request.call import Call
from ..request.change import changed_request
from ..request.renames import OVERRIDES
from ..request.settings import settings_of
from .inputs import CHECKED_SAMPLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from onnx import ModelProto

    from ..measure.layer_errors import LayerError
    from ..request.change import Change

    Quantize = Callable[[Call, ModelProto, Statistics | None], tuple[ModelProto, Statistics]]

LEAST_GAIN = 1.0  # decibels: less is no advice
ALIKE = 0.8  # of the best gain: then the milder change is the better advice
TRIALS = 4  # at least, where they take no longer than that:
PATIENCE = 60.0  # seconds; a call with fine-tuning may take ten minutes, and so do its trials
MIN_MAX = "CalibrationMethod.MinMax"
PASSING = MOVES | CLAMP_OPS
PLACES = 3  # tensors that are left float in turn


class Remedy(NamedTuple):
    """A change that may help, and the place that it is about."""

    stage: str
    place: str
    change: Change


def advise(call: Call, original: ModelProto, model: ModelProto, statistics: Statistics, run: Quantize) -> list[Advice]:
    """Changes that make the worst part better, the best advice first; ``run`` quantizes.

    Trials end when they have taken as long as the call itself; the first four go on for a minute at most.
    """
    worst = call.report.verdict.worst
    if worst is None:
        return []
    start, limit = time.perf_counter(), sum(call.report.seconds.values())
    judge = Judge(original, call.samples.some(CHECKED_SAMPLES), [register_all(call.libraries)])
    found: list[Advice] = []
    for number, remedy in enumerate(_remedies(call, model, judge)):
        taken = time.perf_counter() - start
        if taken > limit and (number >= TRIALS or taken > PATIENCE):
            break
        after = _worst_after(call, original, remedy, statistics, judge, run)
        if after is not None and after - worst.decibels >= LEAST_GAIN:
            advice = Advice(remedy.stage, remedy.place, remedy.change, worst.decibels, after)
            found.append(advice)
    best = max((each.gain for each in found), default=0.0)
    first = next((each for each in found if each.gain >= ALIKE * best), None)
    return [] if first is None else [first, *sorted((e for e in found if e is not first), key=lambda e: -e.gain)]


def _worst_after(
    call: Call, original: ModelProto, remedy: Remedy, statistics: Statistics, judge: Judge, run: Quantize
) -> float | None:
    """Decibels of the worst part after the change; None where the change is refused."""
    known: Statistics | None = statistics
    if "calibrate_method" in remedy.change:
        known = Statistics(statistics.sketches, statistics.samples, energies=statistics.energies)
    if remedy.stage == PREPARED:
        known = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            request = changed_request(call.settings.request, remedy.change).with_options(SelfCheck=False)
            settings = settings_of(request, call.catalog)
            again = Call(settings, call.ledger.next_answer(settings))
            if known is None and not again.samples.rewind():
                return None
            model, _ = run(again, original, known)
            judgements = judge.judgements(model)
    except QuantizationError:
        return None
    return judgements[0].decibels if judgements else None


def _remedies(call: Call, model: ModelProto, judge: Judge) -> Iterator[Remedy]:
    reference = call.ledger.on_the_way[SIMULATED]
    graph = Graph(reference, copy=False)
    yield from _end(call, graph)
    yield from _steps(call)
    errors = layer_errors(reference, model, judge.feeds, libraries=judge.libraries[1:])
    errors.sort(key=lambda error: error.contrast)
    yield from _overrides(call, errors)
    errors = [error for error in errors if not is_bias(graph, error.tensor)]
    weights = [error for error in errors if graph.is_constant(error.tensor)]
    activations = [error for error in errors if not graph.is_constant(error.tensor)]
    sides = [_of_weights(call, weights), _of_activations(call, activations)]
    if activations and (not weights or activations[0].contrast < weights[0].contrast):
        sides.reverse()
    switches = chain(*sides)
    floats = (
        Remedy(QUANTIZED, _place(graph, error), {"nodes_to_exclude": nodes_around(graph, error.tensor)})
        for error in errors[:PLACES]
    )
    yield from islice(switches, 1)
    yield from islice(floats, 1)
    yield from switches
    yield from floats


def is_bias(graph: Graph, tensor: str) -> bool:
    """Whether the tensor is a bias, which errs with the scales of what it is added to."""
    readers = graph.consumers(tensor) if graph.is_constant(tensor) else []
    return any(node.op_type in WITH_BIAS and list(node.input).index(tensor) == 2 for node in readers)


def _place(graph: Graph, error: LayerError) -> str:
    return f"{'weight' if graph.is_constant(error.tensor) else 'tensor'} {error.tensor}"


def nodes_around(graph: Graph, tensor: str) -> list[str]:
    """The nodes that must stay float for the tensor to stay so: who makes it and who reads it, and beyond what moves
    or clamps values, who makes those."""
    found: dict[str, None] = {}
    before, behind = graph.producer(tensor), list(graph.consumers(tensor))
    while before is not None:
        found[before.name] = None
        before = graph.producer(before.input[0]) if before.op_type in PASSING else None
    while behind:
        node = behind.pop()
        found[node.name] = None
        behind += graph.consumers(node.output[0]) if node.op_type in PASSING else []
    return [name for name in found if name]


def _end(call: Call, graph: Graph) -> Iterator[Remedy]:
    """The node that makes the worst part, if a step has changed it: it alone stays float."""
    worst = call.report.verdict.judgements[0]
    if worst.worst_stage() != SIMULATED:
        return
    node = graph.producer(worst.tensor)
    while node is not None and (node.op_type in MOVES or node.name == node.input[0]):  # such a Mul is a step's
        node = graph.producer(node.input[0])
    if node is not None:
        place = f"{node.name}, changed by {', '.join(call.ledger.changing[SIMULATED])},"
        yield Remedy(SIMULATED, place, {"nodes_to_exclude": [node.name]})


def _steps(call: Call) -> Iterator[Remedy]:
    """Steps that changed the float function, those of the stage that lost most first; then all of a stage."""
    worst = call.report.verdict.judgements[0].worst_stage()
    options = {step.key: step.option for step in call.catalog.all(Transform) if step.option is not None}
    for stage in sorted(call.ledger.changing, key=lambda stage: stage != worst):
        keys = [key for key in call.ledger.changing[stage] if key in options]
        if stage == worst or call.report.verdict.judgements[0].sqnr.get(stage, LOUD) < LOUD:
            for key in keys:
                yield Remedy(stage, f"step {key}", {"extra_options": {options[key].key: False}})
            if len(keys) > 1:
                off = {options[key].key: False for key in keys}
                yield Remedy(stage, f"steps {', '.join(keys)}", {"extra_options": off})


def _overrides(call: Call, errors: list[LayerError]) -> Iterator[Remedy]:
    """What the caller states of a tensor that loses by itself is left out."""
    given = call.settings.options.get(OVERRIDES) or {}
    loud = [error.tensor for error in errors if error.contrast < LOUD]
    for name in [name for name in loud if name in given] or ([*given] if len(given) == 1 else []):
        rest = {key: value for key, value in given.items() if key != name}
        yield Remedy(QUANTIZED, f"override of {name}", {"extra_options": {OVERRIDES: rest or None}})


def _of_weights(call: Call, errors: list[LayerError]) -> Iterator[Remedy]:
    place = f"weight {errors[0].tensor}" if errors else "weights"
    if call.weight.is_integer and call.weight.bits < 8:
        yield Remedy(QUANTIZED, place, {"weight_type": "QInt8"})
    if not call.request.per_channel:
        yield Remedy(QUANTIZED, place, {"per_channel": True})
    if not call.call.equalizes:
        yield Remedy(PREPARED, place, {"extra_options": {"IncludeCLE": True}})
    if call.request.reduce_range:
        yield Remedy(QUANTIZED, place, {"reduce_range": False})


def _of_activations(call: Call, errors: list[LayerError]) -> Iterator[Remedy]:
    place = f"tensor {errors[0].tensor}" if errors else "activations"
    if call.method.key is not PowerOfTwoMethod.MinMSE:
        yield Remedy(QUANTIZED, place, {"calibrate_method": PowerOfTwoMethod.MinMSE})
    if not call.method.power_of_two and full_name(call.method.key) != MIN_MAX:
        yield Remedy(QUANTIZED, place, {"calibrate_method": MIN_MAX})
    if call.options[OrtOptions].activation_symmetric:
        yield Remedy(QUANTIZED, place, {"extra_options": {"ActivationSymmetric": False}})
