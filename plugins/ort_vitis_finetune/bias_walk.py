"""A bias follows the means of what its layer gives: of the float layer, and of the quantized one whose input the layers
before have shaped.

    b' = b + E[y_f] - E[y_q]        y: outputs of the layer, over samples and positions

Every node of the quantized network is run once. Means of the samples that teach are tried on those held out; where
these confirm them, means of all are taken. The layer's outputs move by as much, and the walk goes on from there.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ort_vitis_plugin.api import along

from .candidates import BIAS, KEEP
from .finetuned import Finetuned, LayerResult
from .tensor_cache import TensorCache
from .walk import Walk

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from .pairs import Pair, Pairs
    from .samples import Split
    from .settings import FinetuneSettings
    from .walk import Opener


@dataclass(frozen=True)
class _Seen:
    """Of a layer's float outputs: sums by channel over the samples that teach, and how many positions they are."""

    sums: NDArray[np.float64]
    count: int
    shapes: tuple[tuple[int, ...], ...]


class BiasWalk:
    """Corrects the biases of all layers that have one, in the quantized network's order."""

    def __init__(self, pairs: Pairs, samples: Split, opener: Opener, settings: FinetuneSettings) -> None:
        self._pairs, self._samples, self._opener, self._settings = pairs, samples, opener, settings
        self._seen: dict[str, _Seen] = {}

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
                self._run_float(pairs, open_float, wanted)
                for number, pair in enumerate(pairs):
                    walk.reach(pair.quantized_output)
                    layer = self._corrected(pair, walk, wanted, result)
                    result.layers.append(layer)
                    walk.release(pair.quantized_output)
                    wanted.drop(pair.float_output)
                    if on_layer is not None:
                        on_layer(layer, number + 1, len(pairs))
        return result

    def _run_float(self, pairs: Sequence[Pair], opener: Opener, wanted: TensorCache) -> None:
        """The float network, once for each sample: sums of those that teach, the outputs themselves of those that
        judge."""
        model = self._pairs.floats.to_model()
        known = {value.name for value in model.graph.output}
        fed = {value.name for value in model.graph.input}
        names = list(dict.fromkeys(pair.float_output for pair in pairs))
        axes = {pair.float_output: pair.layer.output_axis for pair in pairs}
        for name in names:
            if name not in known:
                model.graph.output.add(name=name)
        session = opener(model)
        for number, feed in enumerate(self._samples.feeds):
            judges = number in self._samples.held
            values = session.run(names, {name: array for name, array in feed.items() if name in fed})
            for name, y in zip(names, values, strict=True):
                before = self._seen.get(name)
                shapes = (*(before.shapes if before else ()), y.shape)
                channels = by_channel(y, axes[name])
                sums = np.zeros(len(channels)) if before is None else before.sums
                count = 0 if before is None else before.count
                if judges:
                    wanted.append(name, y)
                else:
                    sums, count = sums + channels.sum(axis=1), count + channels.shape[1]
                self._seen[name] = _Seen(sums, count, shapes)

    def _corrected(self, pair: Pair, walk: Walk, wanted: TensorCache, result: Finetuned) -> LayerResult:
        assert pair.bias is not None
        node, (ours, theirs) = pair.layer.node.name, pair.bias
        seen, axis = self._seen[pair.float_output], pair.layer.output_axis
        outputs = [walk.value(pair.quantized_output, sample) for sample in range(len(self._samples.feeds))]
        if tuple(y.shape for y in outputs) != seen.shapes:
            return LayerResult(node, KEEP, math.nan, math.nan, "the two networks disagree about its output's shape")
        held = sorted(self._samples.held)
        teach = [by_channel(y, axis) for sample, y in enumerate(outputs) if sample not in self._samples.held]
        sums = np.sum([y.sum(axis=1) for y in teach], axis=0, dtype=np.float64)
        gaps = [by_channel(wanted.get(pair.float_output, at) - outputs[k], axis) for at, k in enumerate(held)]
        if not all(np.isfinite(part).all() for part in (seen.sums, sums, *gaps)):
            return LayerResult(node, KEEP, math.nan, math.nan, "its output is not finite")
        now = self._pairs.quantized.array(theirs)
        assert now is not None
        missing, count = seen.sums - sums, seen.count
        shift = self._moved(theirs, now, missing / max(count, 1)).reshape(-1) - now.reshape(-1)
        before, after = mean_square(gaps), mean_square([gap - shift[:, None] for gap in gaps])
        if not after < before:
            return LayerResult(node, KEEP, before, before)
        missing = missing + np.sum([gap.sum(axis=1) for gap in gaps], axis=0, dtype=np.float64)
        count += sum(gap.shape[1] for gap in gaps)
        result.biases[ours] = bias = self._moved(theirs, now, missing / count)
        shift = (bias - now).reshape(-1)
        for sample, y in enumerate(outputs):
            walk.put(pair.quantized_output, sample, y + along(shift, y.ndim, axis))
        return LayerResult(node, BIAS, before, after)

    def _moved(self, name: str, now: NDArray[np.float32], shift: NDArray[np.float64]) -> NDArray[np.float32]:
        """A bias moved by so much, on its grid."""
        bias = (now + shift.reshape(now.shape)).astype(np.float32)
        grid = self._pairs.grids.get(name)
        return bias if grid is None else grid.covering(bias).rounded(bias)


def mean_square(parts: Sequence[NDArray[np.float32]]) -> float:
    """Over the elements of all parts, which are as large."""
    return float(np.mean([np.mean(np.square(part), dtype=np.float64) for part in parts]))


def by_channel(y: NDArray[np.float32], axis: int) -> NDArray[np.float32]:
    """An output as [channel, position]."""
    moved = np.moveaxis(y, axis, 0)
    return moved.reshape(len(moved), -1)
