"""Layers are rounded in the order in which data passes them: each mends what those before it left.

The float network and the quantized one are walked side by side. At each layer the float input x_f and the quantized
input x_q, which the layers before have shaped, give the layer's candidates; the one taken is put into the quantized
network before the walk goes on. At the end the network as a whole is judged on samples held out, and where it has
become worse only the first layers, up to where it was best, or none, are kept.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import numpy_helper

from ort_vitis_plugin.api import Graph, NetworkError, network_error

from . import result_file
from .candidates import KEEP, ONLY_BIAS, Choice, Constants, Inputs, Problem, choose
from .improvement import activation_behind, improved
from .layer import Layer, layer_of, with_added_bias
from .moments import MomentSums
from .samples import Split, drawn_columns, most_columns, quotas, split
from .settings import FinetuneSettings
from .tensor_cache import TensorCache
from .walk import Walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray
    from onnx import ModelProto, NodeProto

    from ort_vitis_plugin.api import WeightRounding

    from .grid import Grid
    from .simulation import Simulation
    from .walk import Feed, Opener

    Progress = Callable[["LayerResult", int, int], object]

# Where the whole is worse than nothing, so many shares of the layers are tried.
PARTS = 8
UNDONE = "undone: the network became worse"

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LayerResult:
    """What became of one layer: the candidate taken, and the held-out mean square of its output's error."""

    node: str
    candidate: str
    before: float
    after: float
    reason: str = ""


@dataclass
class Finetuned:
    """Constants by their names in the float network; empty where nothing became better.

    ``codes`` are those of weights, ``weights`` and ``biases`` values in float32 on their grids. ``before`` and
    ``after`` are the network's held-out errors: |f - q|^2 / |f|^2, the mean over samples and parts of its outputs.
    """

    codes: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    weights: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    biases: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    layers: list[LayerResult] = field(default_factory=list)
    before: float = math.nan
    after: float = math.nan
    interrupted: bool = False
    reused: bool = False


@dataclass(frozen=True)
class _Pair:
    """A layer as the float network and the quantized one have it; constants by their names in both."""

    layer: Layer
    simulated: NodeProto
    weights: tuple[str, str]
    bias: tuple[str, str] | None

    @property
    def float_input(self) -> str:
        return str(self.layer.node.input[self.layer.data])

    @property
    def quantized_input(self) -> str:
        return str(self.simulated.input[self.layer.data])

    @property
    def constants(self) -> list[tuple[str, str]]:
        return [self.weights, *([self.bias] if self.bias is not None else [])]


def finetune(
    reference: ModelProto,
    simulation: Simulation,
    feeds: Iterable[Feed],
    open_session: Opener,
    settings: FinetuneSettings | None = None,
    *,
    rounding: WeightRounding | None = None,
    on_layer: Progress | None = None,
    result_path: str | Path | None = None,
) -> Finetuned:
    """Weights and biases for the quantized network such that its layers, and itself, come nearer to the float one.

    ``reference`` is the float network whose nodes have the names of the simulation's. ``open_session`` runs models as
    they are written: with custom operators, and with onnxruntime's optimizations off. (WeightBiasQuantization, which
    is part of ORT_ENABLE_BASIC, gives a plain weight beside quantized data a scale of its own.)
    ``rounding`` goes on from the best candidate of each layer. ``on_layer(result, done, of)`` is called after each
    layer. ``result_path`` names a file whose result is taken if it is of the same networks, grids, samples and
    settings, and written otherwise.

    Raises CalibrationError for fewer than 4 samples; KeyboardInterrupt unless ``settings.keep_on_interrupt``.
    """
    settings = settings or FinetuneSettings()
    floats, quantized = Graph(reference), Graph(simulation.model)
    samples = split(feeds, settings.held_out, settings.seed)
    digest = ""
    if result_path is not None:
        digest = result_file.digest_of((floats, quantized), simulation.grids, samples.feeds, settings)
        saved = result_file.load(result_path, digest)
        if saved is not None:
            return _from_saved(saved)
    work = _Work(floats, quantized, simulation.grids, samples, open_session, settings, rounding)
    judge = _Judge(reference, simulation.model, samples, open_session)
    result = work.run(on_layer)
    judge.judge(result, work.pairs)
    if result_path is not None and not result.interrupted:
        result_file.save(result_path, digest, _to_saved(result))
    return result


class _Work:
    """The walk from layer to layer."""

    def __init__(
        self,
        floats: Graph,
        quantized: Graph,
        grids: Mapping[str, Grid],
        samples: Split,
        opener: Opener,
        settings: FinetuneSettings,
        rounding: WeightRounding | None,
    ) -> None:
        self._floats, self._quantized, self._grids, self._rounding = floats, quantized, grids, rounding
        self._samples, self._opener, self._settings = samples, opener, settings
        self._declined: list[LayerResult] = []
        self.pairs = list(self._find())

    def run(self, on_layer: Progress | None) -> Finetuned:
        """Every layer's choice, in the quantized network's order."""
        result = Finetuned(layers=list(self._declined))
        limit = self._settings.memory // 2
        with TensorCache(limit) as left, TensorCache(limit) as right:
            f_walk = Walk(
                self._floats, self._samples.feeds, self._opener, left, [pair.float_input for pair in self.pairs]
            )
            q_walk = Walk(
                self._quantized, self._samples.feeds, self._opener, right, [pair.quantized_input for pair in self.pairs]
            )
            try:
                for number, pair in enumerate(self.pairs):
                    f_walk.reach(pair.float_input)
                    q_walk.reach(pair.quantized_input)
                    choice, reason = self._choose(number, pair, f_walk, q_walk)
                    self._take(pair, choice, q_walk, result)
                    layer = LayerResult(pair.layer.node.name, choice.name, choice.before, choice.error, reason)
                    result.layers.append(layer)
                    _log.info("%s: %s, error %.3g -> %.3g", layer.node, layer.candidate, layer.before, layer.after)
                    f_walk.release(pair.float_input)
                    q_walk.release(pair.quantized_input)
                    if on_layer is not None:
                        on_layer(layer, number + 1, len(self.pairs))
            except KeyboardInterrupt:
                if not self._settings.keep_on_interrupt:
                    raise
                result.interrupted = True
        return result

    def _find(self) -> Iterator[_Pair]:
        simulated = {node.name: node for node in self._quantized if node.name}
        shapes = {name: tuple(tensor.dims) for name, tensor in self._floats.initializers.items()}
        place = {node.name: number for number, node in enumerate(self._quantized.sorted()) if node.name}
        nodes = [node for node in self._floats if node.name in simulated]
        for node in sorted(nodes, key=lambda node: place[node.name]):
            layer, other = layer_of(node, shapes), simulated[node.name]
            if isinstance(layer, str) or other.op_type != node.op_type:
                continue
            weights = (node.input[layer.constant], other.input[layer.constant])
            if weights[1] not in self._grids:
                continue
            add = self._floats.sole_consumer(node.output[0])
            if node.op_type == "MatMul" and add is not None and add.op_type == "Add" and add.name in simulated:
                layer = with_added_bias(layer, add, shapes)
            bias = None
            if layer.bias_node is not None:
                bias = (layer.bias_node.input[layer.bias_at], simulated[layer.bias_node.name].input[layer.bias_at])
            pair = _Pair(layer, other, weights, bias)
            reason = self._refusal(pair)
            if bias is not None and reason and layer.bias_node is not node:
                pair = _Pair(replace(layer, bias_node=None), other, weights, None)  # the Add is none of its business
                reason = self._refusal(pair)
            if reason:
                self._declined.append(LayerResult(node.name, KEEP, math.nan, math.nan, reason))
            else:
                yield pair

    def _refusal(self, pair: _Pair) -> str:
        for ours, theirs in pair.constants:
            if self._floats.sole_consumer(ours) is None or self._quantized.sole_consumer(theirs) is None:
                return f"others read {ours} too"
            if theirs not in self._quantized.initializers:
                return f"{ours} has no plain values"
        return ""

    def _problem(self, pair: _Pair) -> Problem:
        grid = self._grids[pair.weights[1]]
        weights, rounded = self._floats.array(pair.weights[0]), self._quantized.array(pair.weights[1])
        assert weights is not None
        assert rounded is not None
        bias = now = None
        bias_grid = None
        if pair.bias is not None:
            bias, now = self._floats.array(pair.bias[0]), self._quantized.array(pair.bias[1])
            bias_grid = self._grids.get(pair.bias[1])
        return Problem(
            pair.layer,
            weights.astype(np.float32),
            None if bias is None else bias.astype(np.float32),
            grid,
            bias_grid,
            Constants(grid.nearest(rounded), rounded.astype(np.float32), now),
        )

    def _choose(self, number: int, pair: _Pair, f_walk: Walk, q_walk: Walk) -> tuple[Choice, str]:
        problem, layer = self._problem(pair), pair.layer
        names, reason = self._settings.candidates, ""
        if layer.width > self._settings.widest:
            names = tuple(name for name in names if name in ONLY_BIAS)
            reason = f"{layer.width} weights per output: only its bias is corrected"
        squares = any(name not in ONLY_BIAS for name in names)
        rounding = self._rounding if squares else None
        sums = MomentSums(layer.groups, layer.width, centred=problem.bias is not None, squares=squares)
        held: list[tuple[NDArray[np.float32], NDArray[np.float32]]] = []
        learned: list[tuple[NDArray[np.float32], NDArray[np.float32]]] = []
        total = len(self._samples.feeds)
        judging = len(self._samples.held)
        taken = quotas(layer, self._settings.columns, total - judging, judging)
        for sample in range(total):
            f = layer.columns(f_walk.value(pair.float_input, sample))
            q = layer.columns(q_walk.value(pair.quantized_input, sample))
            judges = sample in self._samples.held
            chosen = drawn_columns(len(q), taken[judges], (self._settings.seed, number, sample))
            if len(f) != len(q):
                return _kept(problem), "the two networks disagree about its input's shape"
            columns = f.take(chosen), q.take(chosen)
            if not all(np.isfinite(part).all() for part in columns):
                return _kept(problem), "its input is not finite"
            if judges:
                held.append(columns)
            else:
                sums.add(*columns)
                if rounding is not None:
                    every = slice(None, None, -(-len(chosen) // most_columns(layer, total - judging)))
                    learned.append((columns[0][:, :, every], columns[1][:, :, every]))
        seen = _joined(held)
        choice = choose(problem, sums.result(), seen, names)
        if rounding is not None:
            activation = activation_behind(self._floats, layer)
            choice = improved(rounding, self._settings, problem, choice, _joined(learned), seen, activation)
        return choice, reason

    def _take(self, pair: _Pair, choice: Choice, walk: Walk, result: Finetuned) -> None:
        if choice.name == KEEP:
            return
        constants = choice.constants
        if choice.name not in ONLY_BIAS:
            ours, theirs = pair.weights
            result.codes[ours], result.weights[ours] = constants.codes, constants.weights
            walk.replace(theirs, constants.weights)
        if constants.bias is not None and pair.bias is not None:
            ours, theirs = pair.bias
            result.biases[ours] = constants.bias
            walk.replace(theirs, constants.bias)


class _Judge:
    """The network on held-out samples, before and after."""

    def __init__(self, reference: ModelProto, simulated: ModelProto, samples: Split, opener: Opener) -> None:
        self._simulated, self._opener = simulated, opener
        self._feeds = [samples.feeds[index] for index in sorted(samples.held)]
        self._outputs = [value.name for value in reference.graph.output]
        self._wanted = self._run(reference)

    def judge(self, result: Finetuned, pairs: list[_Pair]) -> None:
        """Fill in both errors; where the network became worse, keep only the layers up to where it is best."""
        before = self._error(self._simulated)
        result.before = result.after = before.mean
        if not result.weights and not result.biases:
            return
        after = self._error(self._changed(result, pairs))
        result.after = after.mean
        if after.is_better_than(before):
            return
        lengths = sorted({len(pairs) * part // PARTS for part in range(1, PARTS)} - {0})
        errors = {length: self._error(self._changed(result, pairs[:length])) for length in lengths}
        errors = {length: error for length, error in errors.items() if error.is_better_than(before)}
        best = min(errors, key=lambda length: errors[length].mean, default=0)
        kept = pairs[:best]
        _log.info(
            "the held-out error went from %.3g to %.3g, no better beyond chance; the first %d of %d layers stay",
            *(result.before, result.after, len(kept), len(pairs)),
        )
        names = {ours for pair in kept for ours, _ in pair.constants}
        for table in (result.codes, result.weights, result.biases):
            for name in [name for name in table if name not in names]:
                del table[name]
        done = {pair.layer.node.name for pair in kept}
        result.layers = [
            layer if layer.node in done or layer.candidate == KEEP else replace(layer, candidate=KEEP, reason=UNDONE)
            for layer in result.layers
        ]
        result.after = errors[best].mean if kept else result.before

    def _changed(self, result: Finetuned, pairs: list[_Pair]) -> ModelProto:
        graph = Graph(self._simulated)
        found = {**result.weights, **result.biases}
        for pair in pairs:
            for ours, theirs in pair.constants:
                if ours in found:
                    graph.put_initializer(numpy_helper.from_array(np.ascontiguousarray(found[ours]), theirs))
        return graph.to_model()

    def _run(self, model: ModelProto) -> list[list[Any]]:
        session = self._opener(model)
        known = {value.name for value in model.graph.input}
        return [
            session.run(self._outputs, {name: array for name, array in feed.items() if name in known})
            for feed in self._feeds
        ]

    def _error(self, model: ModelProto) -> NetworkError:
        return network_error(self._wanted, self._run(model))


def _joined(parts: list[tuple[NDArray[np.float32], NDArray[np.float32]]]) -> Inputs:
    return Inputs(*(np.concatenate(each, axis=2) for each in zip(*parts, strict=True)))


def _kept(problem: Problem) -> Choice:
    return Choice(KEEP, problem.now, math.nan, math.nan)


def _to_saved(result: Finetuned) -> result_file.Saved:
    layers = [[layer.node, layer.candidate, layer.before, layer.after, layer.reason] for layer in result.layers]
    story = {"before": result.before, "after": result.after, "layers": layers, "biases": list(result.biases)}
    return result_file.Saved(result.codes, {**result.weights, **result.biases}, story)


def _from_saved(saved: result_file.Saved) -> Finetuned:
    biases = set(saved.story["biases"])
    return Finetuned(
        saved.codes,
        {name: array for name, array in saved.values.items() if name not in biases},
        {name: array for name, array in saved.values.items() if name in biases},
        [LayerResult(*layer) for layer in saved.story["layers"]],
        saved.story["before"],
        saved.story["after"],
        reused=True,
    )
