"""A correction may change constants and positions; what is then no number, or no longer fits, is taken back."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import numpy as np

from ..data_readers import RandomDataReader, adapt_feed
from ..numerics.qtypes import Scaling
from ..onnx_io.external_weights import array_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnx import ModelProto, TensorProto

    from ..data_readers import Feed, Samples
    from ..graph import Graph
    from ..plan import Plan, TensorPlan
    from ..plugin.declarations import Correction
    from ..request.call import Call


# Fewer samples cannot be parted into those that teach and those that judge.
FEWEST = 8


class CorrectionSamples:
    """All samples that the reader still gives, as a model takes them, anew at each iteration; those kept where it can
    be read only once."""

    def __init__(self, samples: Samples, model: ModelProto) -> None:
        self._samples, self._model = samples, model

    def __iter__(self) -> Iterator[Feed]:
        for feed in self._samples.again():
            yield adapt_feed(self._model, feed)


def enabled_corrections(call: Call) -> list[Correction]:
    """The corrections that hold for the target and are switched on, in the order in which they are declared.

    None learns from random data.
    """
    settings, statistics = call.settings, call.statistics
    if statistics is not None and statistics.constants is not None:
        return []  # what they found lies beside the ranges
    found = [each for each in settings.catalog.corrections(settings.lineage) if _is_on(call, each)]
    if found and not real_samples(call):
        for each in found:
            call.note(f"{each.key} is off: it learns from samples, and there is no calibration_data_reader")
        return []
    return found


def real_samples(call: Call) -> bool:
    """Whether the caller gives samples: nothing is learned from random ones, nor from a saved calibration alone."""
    return call.request.reader is not None and not isinstance(call.request.reader, RandomDataReader)


def _is_on(call: Call, correction: Correction) -> bool:
    settings = call.settings
    if not settings.switched_on(correction.option):
        return False
    if settings.enabled(correction):
        return True
    asked = (
        correction.in_recipe and settings.call.recipe == "auto" and not settings.options.given(correction.option.key)
    )
    known = call.statistics.samples if call.statistics is not None else 0
    rounds_coarsely = Scaling.UNIT not in (call.weight.scaling, call.activation.scaling)
    return asked and rounds_coarsely and known >= FEWEST and real_samples(call) and not call.ledger.satisfied


def apply_correction(call: Call, correction: Correction, plan: Plan, float_graph: Graph) -> int:
    """Let a correction change the plan; returns the number of its changes, 0 where they were taken back.

    An error leaves the plan as it was, too, and is passed on.
    """
    constants, tensors = dict(plan.graph.initializers), {name: copy.copy(each) for name, each in plan.tensors.items()}
    try:
        done = correction(plan, float_graph, CorrectionSamples(call.samples, plan.graph.model), call)
    except Exception:
        _take_back(plan, constants, tensors)
        raise
    if done:
        call.ledger.judged = None  # what samples held out say of the plan before
    wrong = next((name for name, before in constants.items() if not _still_fits(plan.graph, name, before)), None)
    if wrong is None:
        for name, before in constants.items():
            if plan.graph.initializers.get(name) is not before:
                plan.record(name, f"{correction.key} changed the constant")
        return done
    _take_back(plan, constants, tensors)
    call.note(f"{correction.key} was taken back: it gave {wrong} values that are not finite, or another shape or type")
    return 0


def _still_fits(graph: Graph, name: str, before: TensorProto) -> bool:
    now = graph.initializers.get(name)
    if now is before:
        return True
    if now is None or now.data_type != before.data_type or list(now.dims) != list(before.dims):
        return False
    array = array_of(now)
    return array.dtype.kind != "f" or bool(np.isfinite(array).all()) or not np.isfinite(array_of(before)).all()


def _take_back(plan: Plan, constants: dict[str, TensorProto], tensors: dict[str, TensorPlan]) -> None:
    for name, before in constants.items():
        if plan.graph.initializers.get(name) is not before:
            plan.graph.put_initializer(before)
    plan.tensors.clear()
    plan.tensors.update(tensors)
