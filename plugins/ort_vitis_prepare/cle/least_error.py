"""Factors with which rounded weights, and activations, disturb the outputs of layers least.

With w a layer's weights, o and i the scales of its rows and columns, Q rounding to the steps of its one scale and E the
energy of an input channel over samples, in units of the model as it came:

    error of a layer      = sum over w of E (w - Q(w o / i) i / o)^2  /  energy of its output
    error of a tensor     = channels' (step / scale)^2 / 12           /  its energy

Their sum over all layers and tensors is made less, group by group and channel by channel. No factor makes the step of
an activation larger, none brings a channel to a limit where it was not. Ranges alone (Nagel et al., 2019) know neither
which inputs are large nor how little a shared step costs the one layer beside the other.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ort_vitis_plugin.api import constant

from .channels import LEAST, observed
from .layer import canonical
from .pairs import limit_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ort_vitis_plugin.api import Context, Graph

    from .channels import Observed
    from .layer import Channels, Layer
    from .scale_groups import ScaleGroup

SWEEPS = 3
MOST = 16.0  # a channel's scale, and 1 / MOST the least
TRIED = 2.0 ** (np.arange(-8, 9) / 4)  # by which a scale may change in a sweep
NOTHING = 8  # the place of 1 in TRIED
WORTH = 0.999  # a change must bring a channel's error down to this
# Samples to come may be so many times as large as those seen before a limit acts on them.
ROOM = 1.25
# A largest weight may lie so far beyond the last code: one of few bits is clipped by the least error anyway.
BEYOND = 1.5
STEPS = 8  # steps below the one that clips nothing, of which one has the least error


class Codes(NamedTuple):
    """The integers of weights, by how much one step is larger than the next, and the levels of activations."""

    low: int
    high: int
    ratio: float
    levels: float


class RoundedLayer:
    """The error of one layer's rounded weights at its output."""

    def __init__(self, graph: Graph, layer: Layer, channels: dict[str, Observed], codes: Codes) -> None:
        w = constant(graph, layer.node.input[1])
        assert w is not None
        self.layer, self._codes = layer, codes
        self._w = canonical(layer.node, w).astype(np.float32)
        energy = channels[layer.node.input[0]].energy / max(channels[layer.node.output[0]].energy.sum(), LEAST)
        self._share = energy.astype(np.float32).reshape(layer.group, 1, -1, 1)
        self._largest = np.abs(self._w).max(axis=3, initial=0.0)
        self.step = 0.0
        self.settle()

    def settle(self) -> None:
        """Take the step that has the least error with the scales as they are."""
        whole = float(np.abs(self._scaled_largest()).max(initial=0.0)) / self._codes.high
        if whole == 0.0:
            return
        ratio = self._codes.ratio
        coarsest = 2.0 ** np.ceil(np.log2(whole)) if ratio == 2.0 else whole
        tried = [coarsest / ratio**k for k in range(STEPS if ratio == 2.0 else 2 * STEPS)]
        self.step = min(tried, key=lambda step: float(self._errors(1.0, self.layer.in_scale, step).sum()))

    def by_row(self, factor: float) -> NDArray[np.float64]:
        """The error of each output channel [output], all rows scaled by a factor."""
        found = self._errors(factor, self.layer.in_scale, self.step)
        return np.asarray(found.sum(axis=(2, 3), dtype=np.float64).reshape(-1))

    def by_column(self, factor: float) -> NDArray[np.float64]:
        """The error that comes from each input channel [input], all columns scaled by 1 / factor."""
        found = self._errors(1.0, self.layer.in_scale * factor, self.step)
        return np.asarray(found.sum(axis=(1, 3), dtype=np.float64).reshape(-1))

    def room(self) -> Channels:
        """By how much each row [output] may grow until its largest weight lies beyond the codes."""
        largest = self._scaled_largest().max(axis=2).reshape(-1).astype(np.float64)
        most = self.step * self._codes.high * BEYOND
        found: Channels = np.divide(most, largest, out=np.full_like(largest, np.inf), where=largest > 0)
        return found

    def _scaled_largest(self) -> NDArray[np.float32]:
        rows = self.layer.out_scale.reshape(self.layer.group, -1, 1)
        columns = self.layer.in_scale.reshape(self.layer.group, 1, -1)
        found: NDArray[np.float32] = (self._largest * (rows / columns)).astype(np.float32)
        return found

    def _errors(self, factor: float, in_scale: Channels, step: float) -> NDArray[np.float32]:
        if step == 0.0:
            return np.zeros_like(self._w)
        rows = (self.layer.out_scale * factor).reshape(self.layer.group, -1, 1, 1)
        scale = (rows / in_scale.reshape(self.layer.group, 1, -1, 1)).astype(np.float32)
        codes = self._w * (scale / np.float32(step))
        off = codes - np.clip(np.rint(codes), self._codes.low, self._codes.high)
        off *= np.float32(step) / scale
        found: NDArray[np.float32] = np.square(off, out=off) * self._share
        return found


def equalize_by_error(graph: Graph, context: Context, groups: list[ScaleGroup], codes: Codes) -> None:
    """Give the groups the scales of least error; without samples that can be read twice they stay as they are."""
    layers = list({id(layer): layer for group in groups for layer in (*group.heads, *group.tails)}.values())
    names = [name for layer in layers for name in (layer.node.input[0], layer.node.output[0])]
    names += [name for group in groups for name in group.tensors]
    names += [clip.input[0] for group in groups for clip in group.clips]
    channels = observed(graph, context, names) if groups else {}
    if not channels:
        return
    rounded = {id(layer): RoundedLayer(graph, layer, channels, codes) for layer in layers}
    for _ in range(SWEEPS):
        for group in groups:
            _improve(graph, group, rounded, channels, codes)


def _improve(
    graph: Graph, group: ScaleGroup, rounded: dict[int, RoundedLayer], channels: dict[str, Observed], codes: Codes
) -> None:
    heads, tails = ([rounded[id(layer)] for layer in side] for side in (group.heads, group.tails))
    least, most = _bounds(graph, group, heads, channels)
    size = len(group.scale)
    errors = np.empty((len(TRIED), size))
    for at, factor in enumerate(TRIED):
        error = sum((head.by_row(factor) for head in heads), np.zeros(size))
        error = sum((tail.by_column(factor).reshape(size, -1).sum(axis=1) for tail in tails), error)
        errors[at] = error + _of_activations(group, channels, codes, factor)
    forbidden = (TRIED[:, None] < least) | (TRIED[:, None] > most)
    forbidden[NOTHING] = False
    errors[forbidden] = np.inf
    best = errors.argmin(axis=0)
    gains = errors[best, np.arange(size)] < WORTH * errors[NOTHING]
    group.multiply(np.where(gains, TRIED[best], 1.0))
    for each in (*heads, *tails):
        each.settle()


def _bounds(
    graph: Graph, group: ScaleGroup, heads: list[RoundedLayer], channels: dict[str, Observed]
) -> tuple[Channels, Channels]:
    """Between what the factors of a sweep must lie."""
    least, most = 1.0 / MOST / group.scale, MOST / group.scale
    for head in heads:
        most = np.minimum(most, head.room())
    for name in group.tensors:
        peak = channels[name].peak
        if len(peak) == len(group.scale):
            most = np.minimum(most, _reach(peak) / np.maximum(peak * group.scale, LEAST))
    for clip in group.clips:
        room = (limit_of(graph, clip) or 0.0) / channels[clip.input[0]].largest / ROOM / group.scale
        acts = room * group.scale < 1.0
        least, most = np.where(acts, 1.0, least), np.where(acts, 1.0, np.minimum(most, room))
    return least, most


def _reach(peak: Channels) -> float:
    """The power of two at which a tensor of these peaks would be clipped."""
    return float(2.0 ** np.ceil(np.log2(max(float(peak.max()), LEAST))))


def _of_activations(group: ScaleGroup, channels: dict[str, Observed], codes: Codes, factor: float) -> Channels:
    """The error of rounding the group's tensors, by channel."""
    error = np.zeros(len(group.scale))
    for name in group.tensors:
        seen = channels[name]
        if len(seen.peak) == len(group.scale):
            step = 2 * _reach(seen.peak) / codes.levels
            error += (step / (group.scale * factor)) ** 2 / 12 / max(float(seen.energy.sum()), LEAST)
    return error
