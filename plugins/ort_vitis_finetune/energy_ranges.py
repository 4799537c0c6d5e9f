"""A weight matters as much as what it multiplies: channels whose input is always 0 set nobody's step.

    error(step) = sum over c of E[x_c^2] * sum of (W_c - q(W_c))^2        c: input channels

The step of least error is found by trying steps from the one that clips nothing downwards. Where all energies are
equal this is the least squared error of the weights alone.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ort_vitis_plugin.api import attribute, scale_of

from .grid import Grid

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from .layer import Layer

# Steps tried below the one that clips nothing: so many octaves, then around the best by 64ths.
OCTAVES, FINE = 10, 64
# The error of few weights jumps with the step, that of many is smooth: parts of an octave, by weights that share one.
FEW, PARTS_OF_FEW, PARTS_OF_MANY = 1024, 64, 4
SMALLEST = np.finfo(np.float32).tiny


def importance_of(layer: Layer, energy: NDArray[np.floating]) -> NDArray[np.float64]:
    """E[x_c^2] per input channel, in a shape that multiplies the layer's constant elementwise.

    ``energy`` has one number per input channel: per channel of a Conv or ConvTranspose, per element of the axis that
    Gemm and MatMul sum over.
    """
    energy = np.array(energy, dtype=np.float64)
    rank, shape = len(layer.shape), layer.shape
    if layer.node.op_type == "ConvTranspose":
        return np.asarray(energy.reshape(-1, *[1] * (rank - 1)), dtype=np.float64)
    if layer.node.op_type == "Conv":
        groups = layer.groups
        rows = np.repeat(energy.reshape(groups, shape[1]), shape[0] // groups, axis=0)
        return np.asarray(rows.reshape(shape[0], shape[1], *[1] * (rank - 2)), dtype=np.float64)
    last = layer.constant == 0 or (layer.node.op_type == "Gemm" and bool(attribute(layer.node, "transB", 0)))
    return np.asarray(energy.reshape(1, -1) if last else energy.reshape(-1, 1), dtype=np.float64)


@dataclass(frozen=True)
class _Lanes:
    """Weights that share a step lie in one row; ``shape`` is that of the steps."""

    w: NDArray[np.float64]
    importance: NDArray[np.float64]
    shape: tuple[int, ...]

    def error(self, step: NDArray[np.float64], low: NDArray[Any], high: NDArray[Any]) -> NDArray[np.float64]:
        """Of each lane at its step; the limits are counted from zero."""
        codes = np.clip(np.rint(self.w / step[:, None]), low[:, None], high[:, None])
        difference = self.w - codes * step[:, None]
        found: NDArray[np.float64] = np.einsum("ln,ln,ln->l", self.importance, difference, difference)
        return found

    @property
    def parts(self) -> int:
        """Of an octave, in how many it is looked at first."""
        return PARTS_OF_FEW if self.w.shape[1] <= FEW else PARTS_OF_MANY


def energy_positions(
    w: NDArray[Any],
    importance: NDArray[np.floating],
    limits: tuple[int, int],
    *,
    axis: int | None = None,
    block: int = 0,
) -> NDArray[np.int64]:
    """Fix positions p (steps 2^-p) of least error for codes within ``limits``, counted from zero.

    A scalar; with ``axis`` one per index of it; with ``block`` too, one per so many elements of it, in the shape that
    ``Grid`` takes. ``importance`` broadcasts to the weights. Of equals the one that clips least is taken.
    """
    lanes = _lanes(w, importance, axis, block)
    low, high = (np.full(len(lanes.w), limit) for limit in limits)
    top = np.ceil(np.log2(_covering(lanes, low, high)))
    best, position = np.full(len(lanes.w), np.inf), np.zeros(len(lanes.w), np.int64)
    for down in range(OCTAVES + 1):
        error = lanes.error(np.exp2(top - down), low, high)
        better = error < best
        best, position = np.where(better, error, best), np.where(better, down - top, position).astype(np.int64)
    return position.reshape(lanes.shape)


def energy_grid(
    w: NDArray[Any],
    importance: NDArray[np.floating],
    codes: tuple[int, int],
    *,
    axis: int | None = None,
    block: int = 0,
    symmetric: bool = True,
    power_of_two: bool = False,
) -> Grid:
    """The grid of least error whose codes run from ``codes[0]`` to ``codes[1]``.

    Symmetric grids have the zero point in the middle of the codes (0 for signed ones), others where the range wants
    it; power-of-two grids are symmetric.
    """
    first, last = codes
    middle = (first + last + 1) // 2
    if power_of_two:
        limits = (first - middle, last - middle)
        positions = energy_positions(w, importance, limits, axis=axis, block=block)
        scale = np.vectorize(scale_of, otypes=[np.float32])(positions)
        return Grid(scale, np.full(scale.shape, middle, np.int64), first, last, axis, block)
    lanes = _lanes(w, importance, axis, block)
    zero = np.full(len(lanes.w), middle, np.int64)
    if symmetric:
        step = _search(lanes, _covering(lanes, first - zero, last - zero), first - zero, last - zero)
    else:
        step, zero = _search_both_ends(lanes, first, last)
    return Grid(step.astype(np.float32).reshape(lanes.shape), zero.reshape(lanes.shape), first, last, axis, block)


def _lanes(w: NDArray[Any], importance: NDArray[np.floating], axis: int | None, block: int) -> _Lanes:
    w = np.asarray(w, dtype=np.float64)
    weighed = np.broadcast_to(np.asarray(importance, dtype=np.float64), w.shape)
    shape: tuple[int, ...]
    if axis is None:
        flat, energy, shape = w.reshape(1, -1), weighed.reshape(1, -1), ()
    elif not block:
        flat, energy = (np.moveaxis(part, axis, 0).reshape(w.shape[axis], -1) for part in (w, weighed))
        shape = (w.shape[axis],)
    else:
        missing = -w.shape[axis] % block
        pads = [(0, missing if number == axis else 0) for number in range(w.ndim)]
        split = (*w.shape[:axis], (w.shape[axis] + missing) // block, block, *w.shape[axis + 1 :])
        # What is padded is 0 and costs nothing at any step.
        parts = [np.moveaxis(np.pad(part, pads).reshape(split), axis + 1, -1) for part in (w, weighed)]
        shape = parts[0].shape[:-1]
        flat, energy = (part.reshape(-1, block) for part in parts)
    # A lane that nothing depends on is rounded for its own sake.
    dead = ~np.any(energy > 0, axis=1)
    return _Lanes(flat, np.where(dead[:, None], 1.0, energy), shape)


def _covering(lanes: _Lanes, low: NDArray[Any], high: NDArray[Any]) -> NDArray[np.float64]:
    """Steps at which nothing that counts is clipped; 2^-7 for lanes of zeros."""
    counted = np.where(lanes.importance > 0, lanes.w, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.where(high > 0, np.maximum(counted.max(axis=1, initial=0), 0) / np.maximum(high, 1), 0)
        down = np.where(low < 0, np.minimum(counted.min(axis=1, initial=0), 0) / np.minimum(low, -1), 0)
    step = np.maximum(up, down)
    return np.where(step > SMALLEST, step, scale_of(7))


def _search(lanes: _Lanes, covering: NDArray[np.float64], low: NDArray[Any], high: NDArray[Any]) -> NDArray[np.float64]:
    """Coarse steps from half an octave above the one that clips nothing downwards, then fine ones around the best."""
    coarse = (-number / lanes.parts for number in range(-lanes.parts // 2, OCTAVES * lanes.parts + 1))
    step = _least(lanes, covering, low, high, coarse)
    span = FINE // lanes.parts
    return _least(lanes, step, low, high, (number / FINE for number in sorted(range(-span, span + 1), key=abs)))


def _least(
    lanes: _Lanes, base: NDArray[np.float64], low: NDArray[Any], high: NDArray[Any], octaves: Iterable[float]
) -> NDArray[np.float64]:
    best, found = np.full(len(base), math.inf), base
    for octave in octaves:
        step = np.asarray((base * 2.0**octave).astype(np.float32), dtype=np.float64)
        error = lanes.error(step, low, high)
        better = error < best
        best, found = np.where(better, error, best), np.where(better, step, found)
    return found


def _search_both_ends(lanes: _Lanes, first: int, last: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(steps, zero points) of ranges whose ends are moved in, both together and each for itself."""
    counted = np.where(lanes.importance > 0, lanes.w, 0.0)
    bottom, top = np.minimum(counted.min(axis=1), 0), np.maximum(counted.max(axis=1), 0)
    empty = top - bottom <= SMALLEST
    bottom = np.where(empty, -1.0, bottom)
    best = np.full(len(bottom), math.inf)
    step, zero = np.ones(len(bottom)), np.zeros(len(bottom), np.int64)
    ends = np.stack([np.ones(len(bottom)), np.ones(len(bottom))])
    for moved in ((1, 1), (1, 0), (0, 1)):
        start = ends
        for number in range(OCTAVES * lanes.parts + 1):
            share = 2.0 ** (-number / lanes.parts)
            tried = start * np.array([[share if move else 1.0] for move in moved])
            size = (top * tried[1] - bottom * tried[0]) / (last - first)
            size = np.maximum(size, SMALLEST).astype(np.float32).astype(np.float64)
            origin = np.clip(np.rint(first - bottom * tried[0] / size), first, last).astype(np.int64)
            error = lanes.error(size, first - origin, last - origin)
            better = error < best
            best, step, zero = (np.where(better, n, o) for n, o in ((error, best), (size, step), (origin, zero)))
            ends = np.where(better, tried, ends)
    return step, zero
