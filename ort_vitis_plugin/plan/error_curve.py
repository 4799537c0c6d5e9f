"""The squared error of one tensor at every power-of-two position, exact from its sketch."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ..numerics.positions import MAX_POSITION, MIN_POSITION, ZERO_POSITION, covering_position, scale_of
from ..sketch import Sketch, squared_error_direct

if TYPE_CHECKING:
    from ..numerics.qtypes import QType


# How far from the position that just covers the range the least error is looked for. Coarser only pays on data that
# lies on a lattice; finer pays while clipped values hold less energy than all rounding: 2^24 values at most.
_COARSER, _FINER = 10, 24


@dataclass
class ErrorCurve:
    """Squared error of one tensor by power-of-two position, from its sketch (or its values, beyond eight bits).

    Asymmetric tensors have the zero point of least error at each position, of those that put an end of the range
    on an end of the codes or share the room in proportion; with ``never_clips``, of those that cover the range.
    ``exact`` holds what a second pass over the samples found exactly: (squared error, zero point) by position.
    """

    sketch: Sketch
    kind: QType
    limits: tuple[int, int]
    symmetric: bool
    values: NDArray[Any] | None = None
    never_clips: bool = False
    exact: Mapping[int, tuple[float, int]] = field(default_factory=dict)
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

    def known_error(self, position: int) -> float | None:
        """What ``error`` gives where it costs nothing, for somebody asked for that position before; else None."""
        if position not in self._known and position not in self.exact:
            return None
        return self.error(position)

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
        if position in self.exact:
            return self.exact[position]
        found = self._known.get(position)
        if found is None:
            tried = [(self._error(position, zero), zero) for zero in self._zero_points(position)]
            found = self._known[position] = min(tried, key=itemgetter(0))
        return found

    def _error(self, position: int, zero: int) -> float:
        qmin, qmax = self.limits
        if self.values is not None and self.kind.is_wide:
            return float(squared_error_direct(self.values, [position], qmin, qmax, zero)[0])
        return self.sketch.error_of_step(scale_of(position), qmin, qmax, zero)

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
