"""Scale and zero point follow from a tensor's values, its type and its symmetry; here is how."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .numerics import (
    MAX_POSITION,
    MIN_POSITION,
    ZERO_POSITION,
    covering_position,
    scale_of,
)
from .sketch import Sketch, squared_error_direct

if TYPE_CHECKING:
    from .types import QType

# How far from the position that just covers the range the least error is looked for. Coarser only pays on data that
# lies on a lattice; finer pays while clipped values hold less energy than all rounding: 2^24 values at most.
_COARSER, _FINER = 10, 24
_TINY = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True)
class Affine:
    """A scale and a zero point, scalar or per channel."""

    scale: NDArray[np.float32]
    zero_point: NDArray[np.int64]


def affine(low: float, high: float, kind: QType, limits: tuple[int, int], *, symmetric: bool) -> Affine:
    """The scale and zero point that map [low, high], widened to hold 0, onto ``limits``.

    Symmetric: scale = max(|low|, |high|) / min(-qmin, qmax), both relative to the zero point. Asymmetric:
    scale = (high - low) / (qmax - qmin), zero_point = round(qmin - low / scale).
    """
    qmin, qmax = limits
    low, high = min(low, 0.0), max(high, 0.0)
    if symmetric:
        zero = kind.symmetric_zero_point() if limits == kind.limits() or kind.is_signed else (qmax + 1) // 2
        reach = min(zero - qmin, qmax - zero)
        scale = max(-low, high) / reach
    else:
        scale = (high - low) / (qmax - qmin)
        zero = 0
    if not scale >= _TINY:
        scale = scale_of(ZERO_POSITION) if scale == 0 else _TINY
        zero = zero if symmetric else min(max(0, qmin), qmax)
    elif not symmetric:
        zero = min(max(round(qmin - low / scale), qmin), qmax)
    return Affine(np.asarray(scale, dtype=np.float32), np.asarray(zero, dtype=np.int64))


@dataclass
class ErrorCurve:
    """Squared error of one tensor by power-of-two position, from its sketch (or its values, beyond eight bits).

    Asymmetric tensors have the zero point of least error at each position, of those that put an end of the range
    on an end of the codes or share the room in proportion; with ``never_clips``, of those that cover the range.
    ``settled`` holds what a second pass over the samples found exactly: (squared error, zero point) by position.
    """

    sketch: Sketch
    kind: QType
    limits: tuple[int, int]
    symmetric: bool
    values: NDArray[Any] | None = None
    never_clips: bool = False
    settled: Mapping[int, tuple[float, int]] = field(default_factory=dict)
    _known: dict[int, tuple[float, int]] = field(default_factory=dict)

    @property
    def is_zero(self) -> bool:
        return self.sketch.abs_max == 0

    def error(self, position: int) -> float:
        """Squared error at 2^-position divided by the tensor's energy; 0 for a tensor that is zero everywhere."""
        energy = self._energy
        return self._at(position)[0] / energy if energy > 0 else 0.0

    def squared_error(self, position: int) -> float:
        """Sum of squared errors at 2^-position."""
        return self._at(position)[0]

    def zero_point(self, position: int) -> int:
        return self._at(position)[1]

    def covering(self) -> int:
        """The largest position at which no value is clipped."""
        sketch = self.sketch
        qmin, qmax = self.limits
        if self.symmetric:
            zero = self.kind.symmetric_zero_point()
            return covering_position(sketch.minimum, sketch.maximum, qmin - zero, qmax - zero)
        low, high = min(sketch.minimum, 0.0), max(sketch.maximum, 0.0)
        position = covering_position(0.0, high - low, qmin, qmax - qmin)
        # Rounding the zero point may cost one code: then one position coarser covers both ends.
        while position > MIN_POSITION and not self._covers(position, low, high):
            position -= 1
        return position

    def best(self) -> int:
        """The position of least squared error over all of them; of equal ones the larger step."""
        if self.is_zero:
            return ZERO_POSITION
        start = self.covering()
        first = max(start - _COARSER, MIN_POSITION)
        last = min(start + _FINER, MAX_POSITION)
        positions = range(start, first - 1, -1)
        best, least = start, self.squared_error(start)
        for position in positions:
            error = self.squared_error(position)
            if error <= least:
                best, least = position, error
            elif position < start - 1:
                break
        for position in range(start + 1, last + 1):
            error = self.squared_error(position)
            if error < least:
                best, least = position, error
            elif self._clipped(position) > least:
                break
        return best

    @property
    def _energy(self) -> float:
        if "energy" not in self.__dict__:
            self.__dict__["energy"] = self.sketch.sum_squares
        energy: float = self.__dict__["energy"]
        return energy

    def _clipped(self, position: int) -> float:
        """A lower bound of the error here and at every finer position: what the largest value alone loses."""
        qmin, qmax = self.limits
        step, zero = scale_of(position), self.zero_point(position)
        over = max(self.sketch.maximum - (qmax - zero) * step, (qmin - zero) * step - self.sketch.minimum, 0.0)
        return over * over

    def contenders(self) -> list[int]:
        """The positions that a sketch alone cannot tell apart (beyond eight bits), the best one among them."""
        best = self.best()
        near = range(max(best - 3, MIN_POSITION), min(best + 7, MAX_POSITION))
        return self.sketch.contenders(near, *self.limits, self.zero_point(best))

    def _at(self, position: int) -> tuple[float, int]:
        if position in self.settled:
            return self.settled[position]
        if position not in self._known:
            tried = [(self._error(position, zero), zero) for zero in self._zero_points(position)]
            self._known[position] = min(tried, key=lambda found: found[0])
        return self._known[position]

    def _error(self, position: int, zero: int) -> float:
        qmin, qmax = self.limits
        if self.values is not None and self.kind.is_wide:
            return float(squared_error_direct(self.values, [position], qmin, qmax, zero)[0])
        return float(self.sketch.squared_error([position], qmin, qmax, zero)[0])

    def _zero_points(self, position: int) -> list[int]:
        if self.symmetric:
            return [self.kind.symmetric_zero_point()]
        qmin, qmax = self.limits
        low, high = min(self.sketch.minimum, 0.0), max(self.sketch.maximum, 0.0)
        step = scale_of(position)
        at_low, at_high = qmin - low / step, qmax - high / step
        proportional = qmin - low / (high - low) * (qmax - qmin) if high > low else qmin
        near = (round(at_low), round(at_high), round(proportional), math.ceil(at_low), math.floor(at_high))
        zeros = list(dict.fromkeys(min(max(zero, qmin), qmax) for zero in near))
        covering = [zero for zero in zeros if (qmin - zero) * step <= low and high <= (qmax - zero) * step]
        if self.kind.is_wide and covering:
            # With codes to spare at both ends, samples to come may lie beyond either.
            shared = min(max(round(proportional), qmin), qmax)
            covering = [shared] if shared in covering else covering
        return covering if (self.never_clips or self.kind.is_wide) and covering else zeros

    def _covers(self, position: int, low: float, high: float) -> bool:
        qmin, qmax = self.limits
        step = scale_of(position)
        return math.ceil(qmin - low / step) <= math.floor(qmax - high / step)


def softmax_affine(kind: QType, *, symmetric: bool) -> Affine:
    """Values in [0, 1]: symmetric 2^-(b-1) around the middle, else 2^-b from the lowest code."""
    bits = kind.bits - 1 if symmetric else kind.bits
    zero = kind.symmetric_zero_point() if symmetric else kind.min
    return Affine(np.asarray(scale_of(bits), dtype=np.float32), np.asarray(zero, dtype=np.int64))


def widened(low: float, high: float, least: float | None) -> tuple[float, float]:
    """The range, stretched upwards to be no narrower than ``least`` (option MinimumRealRange)."""
    if least is not None and max(high, 0.0) - min(low, 0.0) < least:
        high = min(low, 0.0) + least
    return low, high


def int32_bias_scale(bias: NDArray[Any], scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """The factor, at least 1, by which ``scale`` must grow so that no |bias| / scale exceeds 2^31 - 1."""
    limit = float(2**31 - 1)
    reach = np.abs(np.asarray(bias, dtype=np.float64))
    if scale.ndim == 0:
        reach = np.asarray(reach.max(initial=0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(scale > 0, reach / (limit * scale), 1.0)
    # A hair more, so that rounding the scale to float32 does not undo it.
    return np.where(factor > 1.0, factor * 1.0001, 1.0)


def by_channel(bias: NDArray[Any], channels: int) -> NDArray[Any]:
    """The bias with a value for each channel in its last axis.

    A Gemm adds what broadcasts to [rows, channels]; a grouped ConvTranspose has as many channels of weights as a group
    has outputs, and each group's share of the bias is a row here.
    """
    if bias.ndim == 1 and bias.size > channels:
        return bias.reshape(-1, channels)
    return np.broadcast_to(bias, (*bias.shape[:-1], channels))


def int32_bias_positions(bias: NDArray[Any]) -> int | None:
    """The largest x + w at which an int32 bias of scale 2^-(x + w) does not overflow; None when the bias is zero."""
    reach = float(np.abs(np.asarray(bias, dtype=np.float64)).max(initial=0.0))
    if reach == 0 or not math.isfinite(reach):
        return None
    return math.floor(math.log2((2**31 - 1) / reach))
