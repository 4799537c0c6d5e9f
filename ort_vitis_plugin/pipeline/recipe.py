"""What weights and biases learn from samples is kept where samples held out confirm it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ModelError
from ..graph import Graph
from ..plan import Role
from ..planning.marker import Marker
from ..planning.planner import Planner
from ..planning.tensor_parameters import follows_energy
from ..report.report import Report
from ..request.call import Call
from . import subgraphs
from .corrections import FEWEST, real_samples
from .held_out import Judged, held_out
from .written_plan import carry_over, written

if TYPE_CHECKING:
    from ..calibration.statistics import Statistics
    from ..measure.network_error import NetworkError
    from ..plan import Plan
    from .held_out import HeldOut

# Beyond a quarter of float's energy (6 dB) outputs are noise; of two that are, one is better at half the error: biases,
# which are corrected next, take back far more than what else lies between them.
NOISE, HALF = 0.25, 0.5
ENERGY = "weight ranges by the energy of their inputs"
TOO_FEW = (
    "Recipe: {samples} samples are too few to hold some out, so weights and biases are as {method} alone gives them; "
    "{fewest} samples would do"
)
READ_ONCE = (
    "Recipe: the reader cannot be read again, so weights and biases are as {method} alone gives them; give it "
    "rewind(), or a list of samples"
)
SATISFIED = (
    "Recipe: weights and biases are as {method} alone gives them: over {samples} samples held out the error of the "
    "outputs is {error:.3g} of float, and less would not show"
)
CANNOT_RUN = (
    "Recipe: onnxruntime cannot run the quantized model here, so weights and biases are as {method} alone gives them"
)
NO_SAMPLES = "Recipe: there are no samples to judge by, so weights and biases are as {method} alone gives them"
NO_ENERGY = "Recipe: this calibration keeps no energies of channels, so weights are as {method} alone gives them"


def reads_energies(call: Call) -> bool:
    """Whether energies of channels may count in this call: where they cannot, they are not measured."""
    if call.method.chooses_weights:
        return True
    if not follows_energy(call) or not call.weight.is_integer:
        return False
    return call.call.weight_range == "energy" or call.call.recipe == "auto"


def decided_ranges(call: Call, float_graph: Graph, graph: Graph, statistics: Statistics) -> Statistics:
    """The statistics, with energies of channels where weights are to follow them.

    ``WeightRange`` decides; without it, samples held out do (Recipe="auto"), or nobody does (Recipe="plain").
    """
    if statistics.constants is not None:
        return statistics  # as the call decided that kept them
    if call.method.chooses_weights:
        return statistics
    asked = call.call.weight_range
    without = replace(statistics, energies={})
    if not follows_energy(call) or not call.weight.is_integer:
        return without
    if not statistics.energies:
        if asked == "energy" or (call.call.recipe == "auto" and real_samples(call)):
            call.note(NO_ENERGY.format(method=call.method.key))
        return without
    if asked == "energy":
        return statistics
    if call.call.recipe != "auto":
        return without
    if not real_samples(call):
        call.note(NO_SAMPLES.format(method=call.method.key))
        return without
    if statistics.samples < FEWEST:
        call.note(TOO_FEW.format(samples=statistics.samples, method=call.method.key, fewest=FEWEST))
        return without
    judge = held_out(call, float_graph, statistics.samples)
    if judge is None:
        call.note(READ_ONCE.format(method=call.method.key))
        return without
    first = _trial(call, graph, without)
    plain = _judged(call, judge, first)
    if plain is None:
        call.ledger.satisfied = True
        call.note(CANNOT_RUN.format(method=call.method.key))
        return without
    call.ledger.judged = plain
    if plain.is_good:
        call.ledger.satisfied = True
        call.note(SATISFIED.format(method=call.method.key, samples=len(judge), error=plain.error.mean))
        return without
    second = _trial(call, graph, statistics)
    if not _differ(first, second):
        return statistics
    energy = _judged(call, judge, second)
    taken = energy is not None and is_clearly_better(energy.error, plain.error)
    if taken:
        call.ledger.judged = energy
    found = "onnxruntime cannot run what they give" if energy is None else f"{energy.error.mean:.3g} of float with them"
    call.note(
        f"Recipe: {ENERGY} are {'taken' if taken else 'left'}: over {len(judge)} samples held out the error of the "
        f"outputs is {found} and {plain.error.mean:.3g} without"
    )
    return statistics if taken else without


def _trial(call: Call, graph: Graph, statistics: Statistics) -> Plan:
    """A plan of a copy of the graph, of which the report knows nothing."""
    quiet = Call(call.settings, replace(call.ledger, report=Report()))
    copy = carry_over(graph, Graph(graph.write_back()))
    marker = (call.format.marker or Marker)(copy, subgraphs.call_for(quiet, copy))
    return Planner(marker.marks, statistics, marker.settings, quiet.ledger).plan()


def _judged(call: Call, judge: HeldOut, plan: Plan) -> Judged | None:
    """The plan as written, judged; None where onnxruntime does not run it."""
    model = written(plan, call)
    try:
        return Judged(judge, model, judge.error_of(model))
    except ModelError:
        return None


def is_clearly_better(now: NetworkError, before: NetworkError) -> bool:
    """Whether it is nearer to float beyond chance, and beyond what noise tells."""
    return now.is_better_than(before) and (now.mean < NOISE or now.mean < HALF * before.mean)


def _differ(one: Plan, other: Plan) -> bool:
    """Whether the weights of two plans of one graph have other steps."""
    weights = [tensor for tensor in one if tensor.role is Role.WEIGHT and tensor.name in other]
    return any(not np.array_equal(tensor.scale, other.tensors[tensor.name].scale) for tensor in weights)
