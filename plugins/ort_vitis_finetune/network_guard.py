"""A network that has become worse keeps only its first layers' changes, up to where samples held out confirm them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from onnx import numpy_helper

from ort_vitis_plugin.api import End, Graph, NetworkError, before_softmax, class_axes, network_error, with_outputs

from .candidates import KEEP

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from onnx import ModelProto

    from .finetuned import Finetuned
    from .pairs import Pair
    from .walk import Opener

# Where the whole is no better than nothing, so many shorter beginnings are tried, each halving what is in doubt.
TRIES = 3
UNDONE = "undone: the network became worse"

_log = logging.getLogger(__name__)


class NetworkJudge(Protocol):
    """How far networks are from float, on samples that taught nothing."""

    @property
    def before(self) -> NetworkError:
        """The quantized network as it came."""

    def error_of(self, model: ModelProto) -> NetworkError:
        """A changed one."""


class SplitJudge:
    """Some of the samples that fine-tuning was given: those held out, where they judge."""

    def __init__(
        self, reference: ModelProto, simulated: ModelProto, feeds: Sequence[Mapping[str, NDArray[Any]]], opener: Opener
    ) -> None:
        self._opener, self._feeds = opener, feeds
        outputs, graph, axes = [value.name for value in reference.graph.output], Graph(reference), class_axes(reference)
        made = {name for node in simulated.graph.node for name in node.output}
        ends = [before_softmax(graph, name) for name in outputs]
        within = made.issuperset(end.tensor for end in ends)
        self._ends = ends if within else [End(output) for output in outputs]
        self._classes = [axes.get(name) for name in outputs]
        self._wanted = self._run(reference)
        self.before = self.error_of(simulated)

    def error_of(self, model: ModelProto) -> NetworkError:
        return network_error(self._wanted, self._run(model), self._classes)

    def _run(self, model: ModelProto) -> list[list[Any]]:
        names = [end.tensor for end in self._ends]
        session = self._opener(with_outputs(model, names))
        known = {value.name for value in model.graph.input}
        fed = [{name: array for name, array in feed.items() if name in known} for feed in self._feeds]
        rows = [session.run(names, each) for each in fed]
        return [[end.seen_of(value) for end, value in zip(self._ends, row, strict=True)] for row in rows]


def keep_what_helps(result: Finetuned, pairs: Sequence[Pair], simulated: ModelProto, judge: NetworkJudge) -> None:
    """Fill in both errors; where the network is no better, keep only the layers up to where it is."""
    before = judge.before
    result.before = result.after = before.mean
    if not result.weights and not result.biases:
        return
    after = judge.error_of(_changed(result, pairs, simulated))
    result.after = after.mean
    if after.is_better_than(before, confirmed=True):
        return
    kept, found, low, high = 0, before, 0, len(pairs)
    for _ in range(TRIES):
        length = (low + high + 1) // 2
        if length in (low, high):
            break
        error = judge.error_of(_changed(result, pairs[:length], simulated))
        if error.is_better_than(before, confirmed=True):
            kept, found, low = length, error, length
        else:
            high = length
    _log.info(
        "the held-out error went from %.3g to %.3g, no better beyond chance; the first %d of %d layers stay",
        *(result.before, result.after, kept, len(pairs)),
    )
    _undo(result, pairs[kept:])
    result.after = found.mean


def _undo(result: Finetuned, pairs: Sequence[Pair]) -> None:
    for table in (result.codes, result.weights, result.biases, result.moved):
        for name in [ours for pair in pairs for ours, _ in pair.constants]:
            table.pop(name, None)
    undone = {pair.layer.node.name for pair in pairs}
    result.layers = [
        replace(layer, candidate=KEEP, reason=UNDONE, moved=0)
        if layer.node in undone and layer.candidate != KEEP
        else layer
        for layer in result.layers
    ]


def _changed(result: Finetuned, pairs: Sequence[Pair], simulated: ModelProto) -> ModelProto:
    graph = Graph(simulated)
    found = {**result.weights, **result.biases}
    for pair in pairs:
        for ours, theirs in pair.constants:
            if ours in found:
                graph.put_initializer(numpy_helper.from_array(np.ascontiguousarray(found[ours]), theirs))
    return graph.to_model()
