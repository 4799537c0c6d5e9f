"""Samples that judge: spread evenly over the reader, run through the float network once."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import copy
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors

from ..convert.evaluation_twin import evaluation_twin
from ..data_readers import adapt_feed
from ..data_readers.spread import picked, spread
from ..errors import ModelError
from ..graph import Graph
from ..graph.edit import with_outputs
from ..measure.class_outputs import End, before_softmax, class_axes
from ..measure.network_error import network_error
from ..onnx_io import external_weights
from ..onnx_io.sessions import REFUSALS, SILENT, register_all
from ..request.call import Call
from .corrections import FEWEST
from .written_plan import written

if TYPE_CHECKING:
    import onnxruntime as ort
    from onnx import ModelProto

    from ..data_readers import Feed
    from ..measure.network_error import NetworkError
    from ..plan import Plan
    from ..plugin.context import Context

MOST_JUDGES = 16
# 40 dB: below it scores of networks do not move, and the next width of activations gives no more.
GOOD = 1e-4
# Seconds of running a model beside which it is worth to make its twin (0.2 to 0.4 s, and a session).
TWIN_PAYS = 0.8


class HeldOut:
    """What the float network gives on samples that judge, and how far others are from it.

    ``numbers`` are the samples that judge, by their places in the reader. A Softmax at the end hides what it reads
    where one class is certain, so that is compared in its place, less what all classes share.
    """

    def __init__(self, call: Call, reference: ModelProto, numbers: list[int], feeds: list[Feed]) -> None:
        self.numbers = frozenset(numbers)
        self._call, self._feeds = call, feeds
        graph, axes = Graph(reference, copy=False), class_axes(reference)
        self._outputs = list(graph.outputs)
        self._ends = [before_softmax(graph, name) for name in self._outputs]
        self._classes = [axes.get(name) for name in self._outputs]
        both = list(dict.fromkeys([end.tensor for end in self._ends] + self._outputs))
        session = call.open_session(with_outputs(reference, both), fast=True)
        self._wanted = [dict(zip(both, session.run(both, adapt_feed(reference, feed)), strict=True)) for feed in feeds]

    def __len__(self) -> int:
        return len(self._feeds)

    def few(self, most: int) -> HeldOut:
        """The same with at most so many of its samples, evenly spread."""
        fewer, places = copy.copy(self), spread(len(self), most)
        fewer._feeds, fewer._wanted = ([parts[place] for place in places] for parts in (self._feeds, self._wanted))
        return fewer

    def error_of(self, quantized: ModelProto, *, may_have_twin: bool = True) -> NetworkError:
        """How far a quantized model is from float.

        One of powers of two is run as its evaluation twin where that saves more than it costs to make: both compute the
        same to the bit.

        Raises:
            ModelError: onnxruntime does not run it.
        """
        made = {name for node in quantized.graph.node for name in node.output}
        within = made.issuperset(end.tensor for end in self._ends)
        ends = self._ends if within else [End(output) for output in self._outputs]
        names = [end.tensor for end in ends]
        model = with_outputs(quantized, names)
        feeds = [adapt_feed(quantized, feed) for feed in self._feeds]
        try:
            session, found, start = self._call.open_session(model, fast=True), [], time.perf_counter()
            for number, feed in enumerate(feeds):
                if number == 1 and may_have_twin and self._call.method.power_of_two:
                    rest = (time.perf_counter() - start) * (len(feeds) - 1)
                    session = self._twin(model) if rest > TWIN_PAYS else session
                found.append(session.run(names, feed))
        except (*REFUSALS, ort_errors.RuntimeException) as error:
            raise ModelError(f"onnxruntime cannot run the quantized model: {error}") from error
        rows = [[row[name] for name in names] for row in self._wanted], found
        wanted, found = ([[e.seen_of(v) for e, v in zip(ends, row, strict=True)] for row in each] for each in rows)
        return network_error(wanted, found, self._classes)

    def _twin(self, model: ModelProto) -> ort.InferenceSession:
        twin = evaluation_twin(model)
        options = twin.session_options()
        options.log_severity_level = SILENT
        register_all(self._call.libraries)(options)
        return external_weights.lend_to_session(twin.model, options)


@dataclass(frozen=True)
class Judged:
    """A plan as it is written, and how far that is from float."""

    judge: HeldOut
    model: ModelProto
    error: NetworkError

    @property
    def is_good(self) -> bool:
        """Whether less error would not show."""
        return self.error.mean < GOOD and bool((self.error.agreement == 1).all())


def held_out(call: Call, float_graph: Graph, samples: int) -> HeldOut | None:
    """At most 16 of the call's samples and float's answers to them, found once for all who judge in a call; None where
    there are too few samples, or they cannot be read again."""
    if isinstance(call.ledger.judge, HeldOut):
        return call.ledger.judge
    if samples < FEWEST:
        return None
    numbers = spread(samples, min(max(samples // 3, 2), MOST_JUDGES))
    feeds = picked(call.samples.again(), numbers)
    if not feeds:
        return None
    call.ledger.judge = judge = HeldOut(call, Graph(float_graph.write_back()).to_model(), numbers, feeds)
    return judge


def judged_plan(plan: Plan, float_graph: Graph, context: Context) -> Judged | None:
    """The plan as it is now, judged by samples held out: by what is known of it, if nobody changed it since.

    None where there are too few samples to hold some out, or they cannot be read again.

    Raises:
        ModelError: onnxruntime does not run what the plan gives.
    """
    assert isinstance(context, Call)
    known = context.ledger.judged
    if isinstance(known, Judged):
        return known
    judge = held_out(context, float_graph, context.statistics.samples if context.statistics is not None else 0)
    if judge is None:
        return None
    model = written(plan, context)
    return Judged(judge, model, judge.error_of(model))
