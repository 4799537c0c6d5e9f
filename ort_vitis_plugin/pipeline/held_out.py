"""Samples that judge: spread evenly over the reader, run through the float network once."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors

from ..data_readers import adapt_feed
from ..data_readers.spread import picked, spread
from ..errors import ModelError
from ..graph import Graph
from ..measure.class_outputs import class_axes
from ..measure.network_error import network_error
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

MOST_JUDGES = 8
REFUSALS = (
    *(ort_errors.Fail, ort_errors.InvalidGraph, ort_errors.InvalidArgument, ort_errors.NotImplemented),
    ort_errors.RuntimeException,
)


class HeldOut:
    """The float network's outputs on samples that judge, and how far others are from them.

    ``numbers`` are the samples that judge, by their places in the reader.
    """

    def __init__(self, call: Call, reference: ModelProto, numbers: list[int], feeds: list[Feed]) -> None:
        self.numbers = frozenset(numbers)
        self._call, self._feeds = call, feeds
        self._outputs = [value.name for value in reference.graph.output]
        axes = class_axes(reference)
        self._classes = [axes.get(name) for name in self._outputs]
        self._wanted = self._run(call.open_session(reference), reference)

    def __len__(self) -> int:
        return len(self._feeds)

    def error_of(self, quantized: ModelProto) -> NetworkError:
        """How far a quantized model is from float.

        It is computed as it is written: for so few samples that costs less than to make its evaluation twin.

        Raises:
            ModelError: onnxruntime does not run it.
        """
        try:
            session = self._call.open_session(quantized, as_written=True)
            return network_error(self._wanted, self._run(session, quantized), self._classes)
        except REFUSALS as error:
            raise ModelError(f"onnxruntime cannot run the quantized model: {error}") from error

    def _run(self, session: ort.InferenceSession, model: ModelProto) -> list[list[Any]]:
        return [session.run(self._outputs, adapt_feed(model, feed)) for feed in self._feeds]


@dataclass(frozen=True)
class Judged:
    """A plan as it is written, and how far that is from float."""

    judge: HeldOut
    model: ModelProto
    error: NetworkError


def held_out(call: Call, float_graph: Graph, samples: int) -> HeldOut | None:
    """At most 8 of the call's samples and float's answers to them; None where there are too few of them, or they cannot
    be read again. They are run once for all who judge in a call."""
    if isinstance(call.ledger.judge, HeldOut):
        return call.ledger.judge
    if samples < FEWEST:
        return None
    numbers = spread(samples, min(max(samples // 4, 2), MOST_JUDGES))
    feeds = picked(call.samples.again(), numbers)
    if not feeds:
        return None
    call.ledger.judge = judge = HeldOut(call, Graph(float_graph.write_back()).to_model(), numbers, feeds)
    return judge


def judged(plan: Plan, float_graph: Graph, context: Context) -> Judged | None:
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
