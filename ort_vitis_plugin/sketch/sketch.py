"""The questions that a sketch answers: moments, errors of positions, percentiles, histograms."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..errors import CalibrationError
from .bins import KEYS, LOW_BITS, Bins
from .entropy import divergences
from .position_error import binned_error
from .tally import Tally
from .view import View

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from .bins import Integers
    from .view import Floats


class Sketch(Tally):
    """Counts of a tensor's values; add and merge in any order, then ask.

    Non-finite values are counted apart and are in no other figure. Every figure of an empty sketch is 0.
    """

    @property
    def abs_max(self) -> float:
        """Greatest magnitude."""
        return max(-self.minimum, self.maximum)

    @property
    def sum(self) -> float:
        """Sum of the values, rounded once."""
        view, bins = self.view, self.bins
        column = view.sign * (bins.counts * (view.top << LOW_BITS) + bins.sums)
        total = 0
        for shift in np.unique(view.shift):
            total += int(column[view.shift == shift].sum()) << (int(shift) + 149)
        return total / (1 << 149)

    @property
    def sum_squares(self) -> float:
        """Sum of the squared values."""
        if self._pending:
            self._fetch()
        return self._squares / (1 << 298)

    @property
    def mean(self) -> float:
        """Mean of the values."""
        return self.sum / max(self.count, 1)

    @property
    def deviation(self) -> float:
        """Standard deviation of the values."""
        view, mean = self.view, self.mean
        return math.sqrt((view.scatter + float((view.n * (view.mean - mean) ** 2).sum())) / max(self.count, 1))

    @property
    def view(self) -> View:
        """The bins as floats."""
        bins = self.bins
        if self._view is None:
            self._view = View(bins, self.sum_squares, self._minimum, self._maximum)
        return self._view

    def exact(self, position: ArrayLike, qmin: int, qmax: int, zero_point: int = 0) -> NDArray[np.bool_]:
        """Whether ``squared_error`` is exact at these positions, up to the rounding of float64: in their shape."""
        reach = max(abs(qmin - zero_point), abs(qmax - zero_point))
        p = np.asarray(position, np.int64)
        fits = np.ldexp(self.abs_max, np.clip(p, -1000, 800)) <= 256
        return ((reach <= 256) | fits) & (p <= 133)

    def squared_error(self, positions: ArrayLike, qmin: int, qmax: int, zero_point: int = 0) -> Floats:
        """Sum of (x - (q - zero_point) 2^-p)^2, q = saturate(round(x 2^p) + zero_point), for each position p.

        Positions [P] go in, errors [P] in the square of the tensor's unit come out. Beyond |q| = 256 several codes
        share a bin; there the error of uniformly spread values, 2^(-2p) / 12, stands in.
        """
        view = self.view
        low, high = qmin - zero_point, qmax - zero_point
        steps = np.ldexp(1.0, -np.asarray(positions, np.int64).reshape(-1))
        return np.array([binned_error(view, step, low, high) for step in steps])

    def error_of_step(self, step: float, qmin: int, qmax: int, zero_point: int = 0) -> float:
        """The same for one step of any size, x / step rounded to codes."""
        return binned_error(self.view, step, qmin - zero_point, qmax - zero_point)

    def contenders(self, positions: ArrayLike, qmin: int, qmax: int, zero_point: int = 0) -> list[int]:
        """The positions among which the best one is: one if that is certain, else a few for ``direct_errors``.

        ``positions`` are [P], or of any shape that is read as a list.
        """
        at = np.asarray(positions, np.int64).reshape(-1)
        errors, exact = self.squared_error(at, qmin, qmax, zero_point), self.exact(at, qmin, qmax, zero_point)
        near = errors <= 1.5 * errors.min() + 2.0**-44 * self.sum_squares
        return [int(at[errors.argmin()])] if exact[near].all() else [int(position) for position in at[near]]

    def percentile(self, q: float, *, absolute: bool = False) -> tuple[float, float]:
        """The range of the middle ``q`` percent of values; ``absolute``: [-t, t] with |x| <= t for ``q`` percent.

        Raises:
            CalibrationError: ``q`` lies outside of 0 to 100.
        """
        if not 0 <= q <= 100:
            raise CalibrationError(f"a percentile lies between 0 and 100, not at {q}")
        if not self.count:
            return 0.0, 0.0
        if absolute:
            limit = self._magnitude_quantile(q / 100)
            return -limit, limit
        tail = (1 - q / 100) / 2
        return self.quantile(tail), self.quantile(1 - tail)

    def quantile(self, fraction: float) -> float:
        """The value below which ``fraction`` of the values lie; the extremes at 0 and 1."""
        if not self.count:
            return 0.0
        return self._invert(*self.view.cumulative, fraction)

    def _magnitude_quantile(self, fraction: float) -> float:
        x, y = self.view.cumulative
        grid = np.unique(np.abs(x))
        # |x| <= t as often as x <= t minus as often as x < -t
        below = np.interp(grid, x, y) - np.interp(np.nextafter(-grid, -np.inf), x, y, left=0.0)
        return self._invert(grid, below, fraction)

    @staticmethod
    def _invert(x: Floats, y: Floats, fraction: float) -> float:
        rank = fraction * y[-1]
        at = int(np.searchsorted(y, rank, side="left"))
        if at == 0 or y[at] == y[at - 1]:
            return float(x[at])
        part = (rank - y[at - 1]) / (y[at] - y[at - 1])
        return float(x[at - 1] + part * (x[at] - x[at - 1]))

    def histogram(self, bins: int, limits: tuple[float, float] | None = None) -> tuple[Integers, Floats]:
        """Counts in ``bins`` equal intervals of ``limits`` (else of the extremes) and their edges, as np.histogram:
        [bins] and [bins + 1].

        Values of one fine bin are taken as spread evenly over it; the counts add up to all values in the limits.
        """
        low, high = limits or (self.minimum, self.maximum)
        if low == high:
            margin = max(0.5, abs(low) / 256)
            low, high = low - margin, high + margin
        edges = np.linspace(low, high, bins + 1)
        if not self.count:
            return np.zeros(bins, np.int64), edges
        x, y = self.view.cumulative
        at = np.append(np.nextafter(edges[:-1], -np.inf), edges[-1])
        return np.diff(np.rint(np.interp(at, x, y, left=0.0)).astype(np.int64)), edges

    def entropy_range(self, quantized_bins: int = 128, bins: int = 2048) -> tuple[float, float]:
        """The symmetric threshold whose clipped, coarse histogram diverges least (Kullback-Leibler) from the fine one.

        ``bins`` intervals over [-abs_max, abs_max] are compared with ``quantized_bins`` of them; within the extremes.

        Raises:
            CalibrationError: the numbers of bins cannot be.
        """
        if bins % 2 or not 2 <= quantized_bins <= bins:
            raise CalibrationError(
                f"entropy needs an even number of bins and 2 to that many quantized ones, not {bins}, {quantized_bins}"
            )
        limit = self.abs_max
        if limit == 0:
            return 0.0, 0.0
        counts, edges = self.histogram(bins, (-limit, limit))
        half = bins // 2
        candidates = np.arange(quantized_bins // 2, half + 1)
        best = int(candidates[np.argmin(divergences(counts, candidates, quantized_bins))])
        low, high = edges[half - best], edges[half + best]
        return max(float(low), self.minimum), min(float(high), self.maximum)

    def __repr__(self) -> str:
        return f"Sketch({self.count} values in [{self.minimum:g}, {self.maximum:g}])"


def merged(sketches: Iterable[Sketch]) -> Sketch:
    """One sketch of everything that the given ones have counted."""
    total = Sketch()
    counts, sums = np.zeros(KEYS, np.int64), np.zeros(KEYS, np.int64)
    for sketch in sketches:
        bins = sketch.bins
        counts[bins.keys] += bins.counts
        sums[bins.keys] += bins.sums
        total._absorb_rest(sketch)
    used = np.flatnonzero(counts)
    total._bins = Bins(used, counts[used], sums[used])
    return total
