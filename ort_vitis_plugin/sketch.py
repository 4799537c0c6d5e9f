"""A tensor's values, counted so finely that the squared error of every 8-bit power-of-two position is exact.

Values are counted by the upper 17 bits of their float32 pattern (sign, exponent, 8 mantissa bits). Inside a bin a
value is affine in its 15 lower bits, so two integers per bin, n and sum(low), give count and sum exactly. Integers do
not care about order: any split of the data over samples, threads or machines gives the same bits.

At step 2^-p every rounding and clipping boundary is an odd multiple of 2^-(p+1); up to |q| = 256 those lie on bin
edges, so all values of a bin round to the same q, and with the means m_b of the bins

    error(p) = W + sum_b n_b (m_b - q_b 2^-p)^2        W = sum x^2 - sum_b n_b m_b^2

where W is the same for every p. The one float is sum x^2: it is folded in a fixed order over pieces of 32,768 values
counted from the start of every array given, and the pieces are added exactly, so it depends on neither threads nor the
order of arrays. (Exact squares per bin would cost half as much time again and change no decision, for W is constant.)
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import CalibrationError
from .sketch_engine import Counter, new_counter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LOW_BITS = 15
_LOW_MASK = (1 << LOW_BITS) - 1
_KEYS = 1 << (32 - LOW_BITS)
_SIGN = _KEYS >> 1
_INFINITE = 0xFF << 8  # exponent 255: Inf and NaN
PIECE = 1 << 15  # values whose squares are folded into one float
LANES = 32  # partial sums of a piece, by index modulo 32, then halved until one is left
_SMALL = 1 << 14  # below this, sorting is cheaper than a table of all keys
_CHUNK = 32 * PIECE  # bounds the working memory; sums of 15-bit integers stay far below 2^53
_HEADER = struct.Struct("<4sIQQQff96s")
_MAGIC = b"OVPS"
_VERSION = 1


@dataclass(frozen=True)
class Bins:
    """The touched bins, by ascending key: number of values, and sum of their low bits."""

    keys: Integers
    counts: Integers
    sums: Integers

    @staticmethod
    def empty() -> Bins:
        """No bin at all."""
        nothing = np.zeros(0, np.int64)
        return Bins(nothing, nothing, nothing)

    def __add__(self, other: Bins) -> Bins:
        if not len(self.keys):
            return other
        if not len(other.keys):
            return self
        both = np.concatenate([self.keys, other.keys])
        order = np.argsort(both, kind="stable")  # merges two sorted runs
        both = both[order]
        first = np.concatenate([[True], both[1:] != both[:-1]])
        at = np.empty_like(order)
        at[order] = np.cumsum(first) - 1
        counts, sums = (np.zeros(at.max() + 1, np.int64) for _ in range(2))
        for bins, where in ((self, at[: len(self.keys)]), (other, at[len(self.keys) :])):
            counts[where] += bins.counts
            sums[where] += bins.sums
        return Bins(both[first], counts, sums)

    def __getitem__(self, which: NDArray[np.bool_]) -> Bins:
        return Bins(self.keys[which], self.counts[which], self.sums[which])


def _count(patterns: NDArray[np.uint32]) -> Bins:
    """Bins of float32 patterns."""
    keys = (patterns >> LOW_BITS).astype(np.int64)
    low = (patterns & _LOW_MASK).astype(np.float64)
    if len(patterns) < _SMALL:
        used, at = np.unique(keys, return_inverse=True)
        counts, sums = np.bincount(at, minlength=len(used)), np.bincount(at, low, len(used))
    else:
        table = np.bincount(keys, minlength=_KEYS)
        used = np.flatnonzero(table)
        counts, sums = table[used], np.bincount(keys, low, _KEYS)[used]
    return Bins(used.astype(np.int64), counts.astype(np.int64), sums.astype(np.int64))


def _squares(row: NDArray[np.float32]) -> int:
    """The sum of squares in units of 2^-298, the square of the least float32; each piece is folded in a fixed order."""
    total = 0
    for start in range(0, row.size, PIECE):
        piece = row[start : start + PIECE]
        lanes = np.zeros((-(-piece.size // LANES), LANES))
        lanes.reshape(-1)[: piece.size] = piece
        fold = np.add.reduce(lanes * lanes, axis=0)
        while len(fold) > 1:
            fold = fold[: len(fold) // 2] + fold[len(fold) // 2 :]
        mantissa, exponent = math.frexp(fold[0])
        total += int(mantissa * 2**53) << (exponent + 245) if exponent >= -245 else int(math.ldexp(fold[0], 298))
    return total


def _floats(values: NDArray[Any]) -> NDArray[Any]:
    """The array in one piece and native byte order; only floating-point arrays are taken."""
    array = np.asarray(values)
    if array.dtype.name not in ("float16", "bfloat16", "float32", "float64"):
        raise CalibrationError(f"a sketch takes float16, bfloat16, float32 or float64 values, not {array.dtype}")
    return np.ascontiguousarray(array, array.dtype.newbyteorder("=")).reshape(-1)


def _as_float32(row: NDArray[Any]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return row.astype(np.float32, copy=False)


class _View:
    """What the questions need of the bins: floats, computed once per state of the sketch."""

    def __init__(self, bins: Bins, energy: float, minimum: float, maximum: float) -> None:
        keys, n, sums = bins.keys, bins.counts, bins.sums
        exponent = (keys >> 8) & 0xFF
        self.top = (keys & 0xFF) + np.where(exponent > 0, 256, 0)  # the mantissa without its low bits
        self.shift = np.maximum(exponent, 1) - 150  # value = sign * (top * 2^15 + low) * 2^shift
        self.sign = np.where(keys >= _SIGN, -1, 1)
        self.n = n.astype(np.float64)
        self.mean = self.sign * np.ldexp((self.top << LOW_BITS) + sums / self.n, self.shift)
        scatter = energy - math.fsum(self.n * self.mean**2)
        self.scatter = scatter if scatter > energy * 2.0**-46 else 0.0  # less is rounding
        near = np.ldexp((self.top << LOW_BITS).astype(np.float64), self.shift)
        far = near + np.ldexp(1.0, self.shift + LOW_BITS)
        self.low = np.clip(np.where(self.sign > 0, near, -far), minimum, maximum)
        self.high = np.clip(np.where(self.sign > 0, far, -near), minimum, maximum)
        point = (sums == 0) | (n == 1) | (self.scatter == 0)
        self.low[point] = self.high[point] = self.mean[point]

    @cached_property
    def spread(self) -> Floats:
        """sum (x - m)^2 per bin, estimated: a third of the most that the mean allows, as for even spread."""
        spread: Floats = (self.n - 1) * (self.high - self.mean) * (self.mean - self.low) / 3
        return spread

    @cached_property
    def cumulative(self) -> tuple[Floats, Floats]:
        """Values x and how many of the data lie at or below each, linear in between."""
        order = np.argsort(self.low, kind="stable")
        after = np.cumsum(self.n[order])
        x = np.stack([self.low[order], self.high[order]], axis=1).reshape(-1)
        y = np.stack([after - self.n[order], after], axis=1).reshape(-1)
        return x, y


class Sketch:
    """Counts of a tensor's values; add and merge in any order, then ask.

    Non-finite values are counted apart and are in no other figure. Every figure of an empty sketch is 0.
    """

    def __init__(self) -> None:
        self._counter: Counter | None = None
        self._pending = False
        self._bins = Bins.empty()
        self._nans = 0
        self._infinities = 0
        self._squares = 0
        self._minimum = math.inf
        self._maximum = -math.inf
        self._view: _View | None = None

    def add(self, values: NDArray[Any]) -> None:
        """Count all values of a float16, bfloat16, float32 or float64 array (float64 is rounded to float32)."""
        row = _floats(values)
        if counter := self.counter():
            counter.add(row)
            return
        for start in range(0, row.size, _CHUNK):
            self._add_chunk(_as_float32(row[start : start + _CHUNK]))

    def counter(self) -> Counter | None:
        """The C++ counter that feeds this sketch, None without the library. Call it again before every use."""
        self._counter = self._counter or new_counter()
        self._pending = self._counter is not None
        return self._counter

    def _fetch(self) -> None:
        """Take over what the C++ counter has counted since the last time."""
        if self._pending and self._counter:
            self._pending = False
            self._absorb(Sketch.from_bytes(self._counter.take()))

    def cut(self) -> Sketch:
        """All that was counted, moved to a sketch of its own; this one goes on empty, with the same counter."""
        part = Sketch()
        part.merge(self)
        counter = self._counter
        self.__init__()  # type: ignore[misc]
        self._counter = counter
        return part

    def settle(self) -> None:
        """Fetch, and give the memory of the C++ counter back."""
        self._fetch()
        self._counter = None

    def _add_chunk(self, row: NDArray[np.float32]) -> None:
        bins = _count(row.view(np.uint32))
        finite = (bins.keys & _INFINITE) != _INFINITE
        where: NDArray[np.bool_] | bool = True
        if not finite.all():
            infinities = int(np.isinf(row).sum())
            self._infinities += infinities
            self._nans += int(bins.counts[~finite].sum()) - infinities
            bins = bins[finite]
            where = np.isfinite(row)
            row = np.where(where, row, np.float32(0))  # where they were, so that pieces stay pieces
        if len(bins.keys):
            self._minimum = min(self._minimum, float(row.min(where=where, initial=np.inf)))
            self._maximum = max(self._maximum, float(row.max(where=where, initial=-np.inf)))
            self._squares += _squares(row)
            self._bins = self._bins + bins
        self._view = None

    def merge(self, other: Sketch) -> None:
        """Count everything that ``other`` has counted, too."""
        self._fetch()
        other._fetch()
        self._absorb(other)

    def _absorb(self, other: Sketch) -> None:
        self._bins = self._bins + other._bins
        self._absorb_rest(other)

    def _absorb_rest(self, other: Sketch) -> None:
        self._nans += other._nans
        self._infinities += other._infinities
        self._squares += other._squares
        self._minimum = min(self._minimum, other._minimum)
        self._maximum = max(self._maximum, other._maximum)
        self._view = None

    @property
    def bins(self) -> Bins:
        """The integers that are all of the state besides the extremes and the counts of non-finite values."""
        self._fetch()
        return self._bins

    @property
    def count(self) -> int:
        """Number of finite values."""
        return int(self.bins.counts.sum())

    @property
    def nan_count(self) -> int:
        """Number of NaN values."""
        return self.non_finite[0]

    @property
    def inf_count(self) -> int:
        """Number of infinite values."""
        return self.non_finite[1]

    @property
    def non_finite(self) -> tuple[int, int]:
        """Number of NaN and of infinite values; cheap while counting goes on."""
        nans, infinities = self._counter.non_finite() if self._pending and self._counter else (0, 0)
        return self._nans + nans, self._infinities + infinities

    @property
    def minimum(self) -> float:
        """Least finite value, exact."""
        self._fetch()
        return self._minimum + 0.0 if self._minimum <= self._maximum else 0.0

    @property
    def maximum(self) -> float:
        """Greatest finite value, exact."""
        self._fetch()
        return self._maximum + 0.0 if self._minimum <= self._maximum else 0.0

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
    def view(self) -> _View:
        """The bins as floats."""
        bins = self.bins
        if self._view is None:
            self._view = _View(bins, self.sum_squares, self._minimum, self._maximum)
        return self._view

    def exact(self, position: ArrayLike, qmin: int, qmax: int, zero_point: int = 0) -> NDArray[np.bool_]:
        """Whether ``squared_error`` is exact at these positions, up to the rounding of float64."""
        reach = max(abs(qmin - zero_point), abs(qmax - zero_point))
        p = np.asarray(position, np.int64)
        fits = np.ldexp(self.abs_max, np.clip(p, -1000, 800)) <= 256
        return ((reach <= 256) | fits) & (p <= 133)

    def squared_error(self, positions: ArrayLike, qmin: int, qmax: int, zero_point: int = 0) -> Floats:
        """Sum of (x - (q - zero_point) 2^-p)^2, q = saturate(round(x 2^p) + zero_point), for each position p.

        Beyond |q| = 256 several codes share a bin; there the error of uniformly spread values, 2^(-2p) / 12, stands in.
        """
        view = self.view
        steps = np.ldexp(1.0, -np.asarray(positions, np.int64).reshape(-1))
        return np.array([_error(view, step, qmin - zero_point, qmax - zero_point) for step in steps])

    def contenders(self, positions: ArrayLike, qmin: int, qmax: int, zero_point: int = 0) -> list[int]:
        """The positions among which the best one is: one if that is certain, else a few for ``direct_errors``."""
        at = np.asarray(positions, np.int64).reshape(-1)
        errors, exact = self.squared_error(at, qmin, qmax, zero_point), self.exact(at, qmin, qmax, zero_point)
        near = errors <= 1.5 * errors.min() + 2.0**-44 * self.sum_squares
        return [int(at[errors.argmin()])] if exact[near].all() else [int(position) for position in at[near]]

    def percentile(self, q: float, *, absolute: bool = False) -> tuple[float, float]:
        """The range of the middle ``q`` percent of values; ``absolute``: [-t, t] with |x| <= t for ``q`` percent."""
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
        """Counts in ``bins`` equal intervals of ``limits`` (else of the extremes) and their edges, as np.histogram.

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
        best = int(candidates[np.argmin(_divergences(counts, candidates, quantized_bins))])
        low, high = edges[half - best], edges[half + best]
        return max(float(low), self.minimum), min(float(high), self.maximum)

    def to_bytes(self) -> bytes:
        """The whole state; the same data gives the same bytes in whatever order it came."""
        bins = self.bins
        header = _HEADER.pack(
            *(_MAGIC, _VERSION, len(bins.keys), self._nans, self._infinities),
            *(self._minimum + 0.0, self._maximum + 0.0, self._squares.to_bytes(96, "little")),
        )
        columns = (bins.counts.astype("<i8"), bins.sums.astype("<i8"), bins.keys.astype("<u4"))
        return header + b"".join(column.tobytes() for column in columns)

    @classmethod
    def from_bytes(cls, data: bytes) -> Sketch:
        """The sketch that ``to_bytes`` wrote."""
        if len(data) < _HEADER.size or data[:4] != _MAGIC:
            raise CalibrationError("these bytes are not a sketch")
        _, version, size, nans, infinities, minimum, maximum, squares = _HEADER.unpack_from(data)
        if version != _VERSION:
            raise CalibrationError(f"a sketch of version {version} was found; this release reads version {_VERSION}")
        if len(data) != _HEADER.size + 20 * size:
            raise CalibrationError(f"a sketch of {size} bins was cut off: {len(data)} bytes")
        sketch = cls()
        sketch._nans, sketch._infinities, sketch._minimum, sketch._maximum = nans, infinities, minimum, maximum
        sketch._squares = int.from_bytes(squares, "little")
        columns = np.frombuffer(data, "<i8", 2 * size, _HEADER.size).reshape(2, size).astype(np.int64)
        keys = np.frombuffer(data, "<u4", size, _HEADER.size + 16 * size).astype(np.int64)
        sketch._bins = Bins(keys, *columns)
        return sketch

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sketch) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Callable[[bytes], Sketch], tuple[bytes]]:
        return Sketch.from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        return f"Sketch({self.count} values in [{self.minimum:g}, {self.maximum:g}])"


def merged(sketches: Iterable[Sketch]) -> Sketch:
    """One sketch of everything that the given ones have counted."""
    total = Sketch()
    counts, sums = np.zeros(_KEYS, np.int64), np.zeros(_KEYS, np.int64)
    for sketch in sketches:
        bins = sketch.bins
        counts[bins.keys] += bins.counts
        sums[bins.keys] += bins.sums
        total._absorb_rest(sketch)
    used = np.flatnonzero(counts)
    total._bins = Bins(used, counts[used], sums[used])
    return total


def _error(view: _View, step: float, low: int, high: int) -> float:
    """W + sum n (m - q step)^2, and for the bins of several codes the error of evenly spread values."""
    error = view.n * (view.mean / step - np.clip(np.rint(view.mean / step), low, high)) ** 2
    reach = np.abs(view.mean).max(initial=0.0) / step
    if max(-low, high) > 256 and reach >= 256:
        first, last = view.low / step, view.high / step
        mixed = (last - first >= 0.75) & (last > low) & (first < high)
        if mixed.any():
            first, last = first[mixed], last[mixed]
            above, below = np.maximum(last - high, 0), np.maximum(low - first, 0)
            width = last - first
            error[mixed] = view.n[mixed] * ((width - above - below) / 12 + (above**3 + below**3) / 3) / width
            return float(error.sum()) * step * step + float(view.spread[~mixed].sum())
    return float(error.sum()) * step * step + view.scatter


def _divergences(counts: Integers, candidates: Integers, quantized_bins: int) -> Floats:
    """KL(p || q) for each half width: p is the clipped histogram with its tails in the end bins, q its coarse copy."""
    half = len(counts) // 2
    h = counts.astype(np.float64)
    total = h.sum()
    start, stop = half - candidates, half + candidates
    before = np.concatenate([[0.0], np.cumsum(h)])
    used = np.concatenate([[0.0], np.cumsum(h > 0)])
    with np.errstate(divide="ignore", invalid="ignore"):
        plogp = np.concatenate([[0.0], np.cumsum(np.where(h > 0, h * np.log(h), 0.0))])

    group = np.minimum(
        start[:, None] + np.arange(quantized_bins) * (2 * candidates // quantized_bins)[:, None], stop[:, None]
    )
    group = np.concatenate([group, stop[:, None]], axis=1)
    mass = np.diff(before[group], axis=1)
    bins = np.diff(used[group], axis=1)
    p_mass = mass.copy()
    left, right = before[start], total - before[stop]
    first, last = h[start], h[stop - 1]
    p_mass[:, 0] += left
    p_mass[:, -1] += right
    # A tail may fill an end bin that is empty by itself.
    bins[:, 0] += (first == 0) & (left > 0)
    bins[:, -1] += (last == 0) & (right > 0)

    def entropy(value: Floats) -> Floats:
        return np.where(value > 0, value * np.log(np.maximum(value, 1.0)), 0.0)

    own = plogp[stop] - plogp[start] - entropy(first) - entropy(last) + entropy(first + left) + entropy(last + right)
    # q is not scaled up by what was clipped: else a range that clips nearly everything into one bin would fit best.
    level = np.maximum(mass / np.maximum(bins, 1.0) / total, 1e-12)
    cross = np.where(p_mass > 0, p_mass * np.log(level), 0.0).sum(axis=1)
    divergences: Floats = (own - cross) / total - math.log(total)
    return divergences


def squared_error_direct(
    values: NDArray[Any], positions: ArrayLike, qmin: int, qmax: int, zero_point: int = 0
) -> Floats:
    """What ``Sketch.squared_error`` gives, for any width, from the finite values themselves in float64."""
    row = _as_float32(_floats(values))
    low, high = qmin - zero_point, qmax - zero_point
    steps = np.ldexp(1.0, -np.asarray(positions, np.int64).reshape(-1))
    errors = np.zeros(len(steps))
    for start in range(0, row.size, 1 << 15):
        chunk = row[start : start + (1 << 15)].astype(np.float64)
        chunk = chunk[np.isfinite(chunk)]
        for at, step in enumerate(steps):
            scaled = chunk / step
            scaled -= np.clip(np.rint(scaled), low, high)
            errors[at] += float(np.square(scaled, out=scaled).sum()) * step * step
    return errors
