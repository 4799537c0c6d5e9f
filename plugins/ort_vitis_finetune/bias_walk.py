"""A bias brings what others read of its layer nearest to float, once the layers before have theirs.

    least squares    E |z_f - a(y_q + b)|^2        y: outputs of the layer; z, a(y): behind its activation
    one step         b = E[a' (z_f - a(y_q))] / E[a'^2]        without activation E[y_f] - E[y_q]

Every node of the quantized network is run once. What samples that teach give is tried on those held out; where these
confirm it, that of all is taken. The layer's outputs move by as much, and the walk goes on from there.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ort_vitis_plugin.api import along

from .activation import activation_of, read_of
from .candidates import BIAS, KEEP
from .finetuned import Finetuned, LayerResult
from .tensor_cache import TensorCache
from .walk import Walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from .activation import Activation
    from .pairs import Pair, Pairs
    from .samples import Split
    from .settings import FinetuneSettings
    from .walk import Opener


# Of a large output every third, fifth ... position along each axis: so many tell its errors.
MOST_POSITIONS = 4096
# Slopes of activations are measured over so much of the standard deviation of what they are given, to both sides.
REACH = 0.25
SMALLEST = 1e-6
# A channel that the activation passes on with less than this mean square of slopes is not moved.
LEAST_SLOPE = 1e-3


class BiasWalk:
    """Corrects the biases of all layers that have one, in the quantized network's order."""

    def __init__(self, pairs: Pairs, samples: Split, opener: Opener, settings: FinetuneSettings) -> None:
        self._pairs, self._samples, self._opener, self._settings = pairs, samples, opener, settings
        self._shapes: dict[str, list[tuple[int, ...]]] = {}

    def run(self, open_float: Opener, on_layer: Callable[[LayerResult, int, int], object] | None) -> Finetuned:
        """Every layer's bias; layers without one stay."""
        result = Finetuned(layers=list(self._pairs.declined))
        pairs = [pair for pair in self._pairs.found if pair.bias is not None]
        if not pairs:
            return result
        limit = self._settings.memory // 2
        with TensorCache(limit) as wanted, TensorCache(limit) as cache:
            ends = [pair.quantized_output for pair in pairs]
            walk = Walk(self._pairs.quantized, self._samples.feeds, self._opener, cache, ends)
            with result.interruptible(keep=self._settings.keep_on_interrupt):
                behind = {pair.float_output: self._behind(pair) for pair in pairs}
                self._run_float(pairs, behind, open_float, wanted)
                for number, pair in enumerate(pairs):
                    walk.reach(pair.quantized_output)
                    layer = self._corrected(pair, behind[pair.float_output], walk, wanted, result)
                    result.layers.append(layer)
                    walk.release(pair.quantized_output)
                    wanted.drop(pair.float_output)
                    if on_layer is not None:
                        on_layer(layer, number + 1, len(pairs))
        return result

    def _behind(self, pair: Pair) -> Activation | None:
        """The activation behind a layer, if both networks have it."""
        read, axis = read_of(self._pairs.floats, pair.float_output), pair.layer.output_axis
        if read == pair.float_output:
            return None
        from_end = axis if axis < 0 else axis - len(pair.layer.shape)
        return activation_of(self._pairs.quantized, pair.quantized_output, read, from_end, self._opener)

    def _run_float(
        self, pairs: Sequence[Pair], behind: Mapping[str, Activation | None], opener: Opener, wanted: TensorCache
    ) -> None:
        """The float network, once for each sample: of each layer, under its output's name, what others read."""
        model = self._pairs.floats.to_model()
        known = {value.name for value in model.graph.output}
        fed = {value.name for value in model.graph.input}
        axes = {pair.float_output: pair.layer.output_axis for pair in pairs}
        read = {name: name if activation is None else activation.read for name, activation in behind.items()}
        names = list(dict.fromkeys(read.values()))
        for name in names:
            if name not in known:
                model.graph.output.add(name=name)
        session = opener(model)
        for feed in self._samples.feeds:
            values = session.run(names, {name: array for name, array in feed.items() if name in fed})
            found = dict(zip(names, values, strict=True))
            for output, axis in axes.items():
                z = found[read[output]]
                self._shapes.setdefault(output, []).append(z.shape)
                wanted.append(output, thinned(z, axis))

    def _corrected(
        self, pair: Pair, activation: Activation | None, walk: Walk, wanted: TensorCache, result: Finetuned
    ) -> LayerResult:
        assert pair.bias is not None
        node, (ours, theirs), axis = pair.layer.node.name, pair.bias, pair.layer.output_axis
        samples = range(len(self._samples.feeds))
        outputs = [walk.value(pair.quantized_output, sample) for sample in samples]
        if [y.shape for y in outputs] != self._shapes[pair.float_output]:
            return LayerResult(node, KEEP, math.nan, math.nan, "the two networks disagree about its output's shape")
        layer = _Layer([thinned(y, axis) for y in outputs], [wanted.get(pair.float_output, k) for k in samples], axis)
        layer.fit(activation)
        if not layer.is_finite:
            return LayerResult(node, KEEP, math.nan, math.nan, "its output is not finite")
        now = self._pairs.quantized.array(theirs)
        assert now is not None
        held = sorted(self._samples.held)
        bias = self._moved(theirs, now, layer.shift([sample for sample in samples if sample not in self._samples.held]))
        before, after = layer.error(held), layer.error(held, (bias - now).reshape(-1), activation)
        if not after < before:
            return LayerResult(node, KEEP, before, before)
        result.biases[ours] = bias = self._moved(theirs, now, layer.shift(samples))
        shift = along((bias - now).reshape(-1), outputs[0].ndim, axis)
        for sample, y in enumerate(outputs):
            walk.put(pair.quantized_output, sample, y + shift)
        return LayerResult(node, BIAS, before, after)

    def _moved(self, name: str, now: NDArray[np.float32], shift: NDArray[np.float64]) -> NDArray[np.float32]:
        """A bias moved by so much, on its grid."""
        bias = (now + shift.reshape(now.shape)).astype(np.float32)
        grid = self._pairs.grids.get(name)
        return bias if grid is None else grid.covering(bias).rounded(bias)


class _Layer:
    """One layer over all samples: what it gives, and what others are to read of it."""

    def __init__(
        self, outputs: Sequence[NDArray[np.float32]], wanted: Sequence[NDArray[np.float32]], axis: int
    ) -> None:
        self._outputs, self._wanted, self._axis = outputs, wanted, axis
        self._gaps: list[NDArray[np.float32]] = []
        # Sums over positions, of which samples may have more or fewer.
        self._products: list[NDArray[np.float64]] = []
        self._squares: list[NDArray[np.float64]] = []

    def fit(self, activation: Activation | None) -> None:
        """Errors of all samples, and how far a bias moves what is read."""
        reach = np.float32(max(REACH * float(self._outputs[0].std()), SMALLEST))
        for y, wanted in zip(self._outputs, self._wanted, strict=True):
            gap = by_channel(wanted - (y if activation is None else activation(y)), self._axis)
            slope = np.ones_like(gap)
            if activation is not None:
                slope = by_channel(activation(y + reach) - activation(y - reach), self._axis) / (2 * reach)
            self._gaps.append(gap)
            self._products.append((slope * gap).sum(axis=1, dtype=np.float64))
            self._squares.append(np.square(slope).sum(axis=1, dtype=np.float64))

    @property
    def is_finite(self) -> bool:
        return all(np.isfinite(gap).all() for gap in self._gaps) and bool(np.isfinite(self._squares).all())

    def shift(self, samples: Iterable[int]) -> NDArray[np.float64]:
        """By how much a bias brings these samples nearest."""
        chosen = list(samples)
        products, squares = (np.sum([part[k] for k in chosen], axis=0) for part in (self._products, self._squares))
        moves = squares > LEAST_SLOPE * max(sum(self._gaps[k].shape[1] for k in chosen), 1)
        found: NDArray[np.float64] = np.where(moves, products / np.where(moves, squares, 1), 0)
        return found

    def error(
        self,
        samples: Sequence[int],
        shift: NDArray[np.float32] | None = None,
        activation: Activation | None = None,
    ) -> float:
        """The mean square of what is read of these samples, once the bias has moved by ``shift``."""
        if shift is None:
            return mean_square([self._gaps[sample] for sample in samples])
        if activation is None:
            return mean_square([self._gaps[sample] - shift.reshape(-1, 1) for sample in samples])
        moved = along(shift, self._outputs[0].ndim, self._axis)
        return mean_square([self._wanted[sample] - activation(self._outputs[sample] + moved) for sample in samples])


def mean_square(parts: Sequence[NDArray[np.float32]]) -> float:
    """Over the elements of all parts, which are as large."""
    return float(np.mean([np.mean(np.square(part), dtype=np.float64) for part in parts]))


def by_channel(y: NDArray[np.float32], axis: int) -> NDArray[np.float32]:
    """An output as [channel, position]."""
    moved = np.moveaxis(y, axis, 0)
    return moved.reshape(len(moved), -1)


def thinned(y: NDArray[np.float32], axis: int) -> NDArray[np.float32]:
    """An output at no more than so many positions that are spread evenly over it."""
    others = [at for at in range(y.ndim) if at != axis % y.ndim]
    step = 1
    while math.prod(-(-y.shape[at] // step) for at in others) > MOST_POSITIONS:
        step += 2  # odd: what differs from one position to the next is seen whole
    if step == 1:
        return y
    return np.ascontiguousarray(y[tuple(slice(None, None, step if at in others else 1) for at in range(y.ndim))])
