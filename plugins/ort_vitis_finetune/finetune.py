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
from typing import TYPE_CHECKING, Any

import numpy as np

from ort_vitis_plugin.api import Graph

from . import result_file
from .bias_walk import BiasWalk
from .candidates import KEEP, ONLY_BIAS, Choice, Constants, Inputs, Problem, choose
from .finetuned import Finetuned, LayerResult
from .improvement import activation_behind, improved
from .moments import MomentSums
from .network_guard import SplitJudge, keep_what_helps
from .pairs import Pairs
from .samples import Split, drawn_columns, most_columns, quotas, split
from .settings import FinetuneSettings
from .tensor_cache import TensorCache
from .walk import Walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray
    from onnx import ModelProto

    from ort_vitis_plugin.api import WeightRounding

    from .moments import Moments
    from .network_guard import NetworkJudge
    from .pairs import Pair
    from .simulation import Simulation
    from .walk import Feed, Opener

    Progress = Callable[[LayerResult, int, int], object]

_log = logging.getLogger(__name__)


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
    judge: NetworkJudge | None = None,
    open_float: Opener | None = None,
) -> Finetuned:
    """Weights and biases for the quantized network such that its layers, and itself, come nearer to the float one.

    ``reference`` is the float network whose nodes have the names of the simulation's. ``open_session`` runs models as
    they are written: with custom operators, and with onnxruntime's optimizations off. (WeightBiasQuantization, which
    is part of ORT_ENABLE_BASIC, gives a plain weight beside quantized data a scale of its own.)
    ``rounding`` goes on from the best candidate of each layer. ``on_layer(result, done, of)`` is called after each
    layer. ``result_path`` names a file whose result is taken if it is of the same networks, grids, samples and
    settings, and written otherwise. ``judge`` says what becomes of the network on samples that are not among the
    feeds; without it, those held out of them do. ``open_float`` may run float models otherwise, for speed.

    Raises CalibrationError for fewer than 4 samples; KeyboardInterrupt unless ``settings.keep_on_interrupt``.
    """
    settings = settings or FinetuneSettings()
    floats, quantized = Graph(reference), Graph(simulation.model)
    samples = split(feeds, settings.held_out, settings.seed)
    digest = ""
    if result_path is not None:
        digest = result_file.digest_of((floats, quantized), simulation, samples.feeds, settings)
        saved = result_file.load(result_path, digest)
        if saved is not None:
            return _from_saved(saved)
    only_biases = set(settings.candidates) <= set(ONLY_BIAS)
    pairs = Pairs(floats, quantized, simulation.grids, only_biases=only_biases)
    judge = judge or SplitJudge(reference, simulation.model, samples.judges, open_session)
    if only_biases:
        result = BiasWalk(pairs, samples, open_session, settings).run(open_float or open_session, on_layer)
    else:
        result = WeightWalk(pairs, simulation.moves, samples, open_session, settings, rounding).run(on_layer)
    keep_what_helps(result, pairs.found, simulation.model, judge)
    if result_path is not None and not result.interrupted:
        result_file.save(result_path, digest, _to_saved(result))
    return result


class WeightWalk:
    """The walk from layer to layer."""

    def __init__(
        self,
        pairs: Pairs,
        moves: Mapping[str, tuple[int, ...]],
        samples: Split,
        opener: Opener,
        settings: FinetuneSettings,
        rounding: WeightRounding | None,
    ) -> None:
        self._pairs, self._moves = pairs, moves
        self._samples, self._opener, self._settings = samples, opener, settings
        self._rounding = rounding

    def run(self, on_layer: Progress | None) -> Finetuned:
        """Every layer's choice, in the quantized network's order."""
        result = Finetuned(layers=list(self._pairs.declined))
        limit = self._settings.memory // 2
        pairs, feeds = self._pairs.found, self._samples.feeds
        with TensorCache(limit) as left, TensorCache(limit) as right:
            f_walk = Walk(self._pairs.floats, feeds, self._opener, left, [pair.float_input for pair in pairs])
            q_walk = Walk(self._pairs.quantized, feeds, self._opener, right, [pair.quantized_input for pair in pairs])
            with result.interruptible(keep=self._settings.keep_on_interrupt):
                for number, pair in enumerate(pairs):
                    f_walk.reach(pair.float_input)
                    q_walk.reach(pair.quantized_input)
                    choice, reason = self._choose(number, pair, f_walk, q_walk)
                    self._take(pair, choice, q_walk, result)
                    layer = LayerResult(
                        pair.layer.node.name, choice.name, choice.before, choice.error, reason, choice.moved
                    )
                    result.layers.append(layer)
                    _log.info(
                        "%s: %s, moved by %d, error %.3g -> %.3g",
                        *(layer.node, layer.candidate, layer.moved, layer.before, layer.after),
                    )
                    f_walk.release(pair.float_input)
                    q_walk.release(pair.quantized_input)
                    if on_layer is not None:
                        on_layer(layer, number + 1, len(pairs))
        return result

    def _problem(self, pair: Pair) -> Problem:
        grid = self._pairs.grids[pair.weights[1]]
        weights, rounded = self._pairs.floats.array(pair.weights[0]), self._pairs.quantized.array(pair.weights[1])
        assert weights is not None
        assert rounded is not None
        bias = now = None
        bias_grid = None
        if pair.bias is not None:
            bias, now = self._pairs.floats.array(pair.bias[0]), self._pairs.quantized.array(pair.bias[1])
            bias_grid = self._pairs.grids.get(pair.bias[1])
        return Problem(
            pair.layer,
            weights.astype(np.float32),
            None if bias is None else bias.astype(np.float32),
            grid,
            bias_grid,
            Constants(grid.nearest(rounded), rounded.astype(np.float32), now),
            self._moves.get(pair.weights[0], ()),
        )

    def _choose(self, number: int, pair: Pair, f_walk: Walk, q_walk: Walk) -> tuple[Choice, str]:
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

        def of_all() -> Moments:
            for f_held, q_held in held:
                thin = slice(None, None, -(-f_held.shape[2] // taken[False]))
                sums.add(f_held[:, :, thin], q_held[:, :, thin])
            return sums.result()

        choice = choose(problem, sums.result(), [Inputs(*columns) for columns in held], names, of_all)
        if rounding is not None:
            activation = activation_behind(self._pairs.floats, layer)
            choice = improved(
                rounding,
                self._settings,
                problem.moved(choice.moved),
                choice,
                _joined(learned),
                _joined(held),
                activation,
            )
        return choice, reason

    def _take(self, pair: Pair, choice: Choice, walk: Walk, result: Finetuned) -> None:
        if choice.name == KEEP:
            return
        constants = choice.constants
        if choice.name not in ONLY_BIAS:
            ours, theirs = pair.weights
            result.codes[ours], result.weights[ours] = constants.codes, constants.weights
            if choice.moved:
                result.moved[ours] = choice.moved
            walk.replace(theirs, constants.weights)
        if constants.bias is not None and pair.bias is not None:
            ours, theirs = pair.bias
            result.biases[ours] = constants.bias
            walk.replace(theirs, constants.bias)


def _joined(parts: list[tuple[NDArray[np.float32], NDArray[np.float32]]]) -> Inputs:
    return Inputs(*(np.concatenate(each, axis=2) for each in zip(*parts, strict=True)))


def _kept(problem: Problem) -> Choice:
    return Choice(KEEP, problem.now, math.nan, math.nan)


def _to_saved(result: Finetuned) -> result_file.Saved:
    layers = [
        [layer.node, layer.candidate, layer.before, layer.after, layer.reason, layer.moved] for layer in result.layers
    ]
    story: dict[str, Any] = {"moved": result.moved}
    story |= {"before": result.before, "after": result.after, "layers": layers, "biases": list(result.biases)}
    return result_file.Saved(result.codes, {**result.weights, **result.biases}, story)


def _from_saved(saved: result_file.Saved) -> Finetuned:
    biases = set(saved.story["biases"])
    return Finetuned(
        saved.codes,
        {name: array for name, array in saved.values.items() if name not in biases},
        {name: array for name, array in saved.values.items() if name in biases},
        saved.story["moved"],
        [LayerResult(*layer) for layer in saved.story["layers"]],
        saved.story["before"],
        saved.story["after"],
        reused=True,
    )
