"""What a sketch holds: counts of numpy or of the C++ library, which merge and are written to bytes.

Bytes: a header (magic, version, number of bins, NaN, Inf, minimum, maximum, sum of squares as an integer of 96 bytes),
then the columns counts, sums of low bits, keys.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import CalibrationError
from .bins import INFINITE, Bins, bins_of
from .engine import Counter, new_counter
from .squares import PIECE, sum_of_squares
from .values import as_float32, floats

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from numpy.typing import NDArray

    from .view import View

_CHUNK = 32 * PIECE  # bounds the working memory; sums of 15-bit integers stay far below 2^53
_FEW = 1 << 12  # below this a table of the library costs more than it saves
_HEADER = struct.Struct("<4sIQQQff96s")
_MAGIC = b"OVPS"
_VERSION = 1


class Tally:
    """Counts of a tensor's values; add and merge in any order."""

    def __init__(self) -> None:
        self._counter: Counter | None = None
        self._pending = False
        self._bins = Bins.empty()
        self._nans = 0
        self._infinities = 0
        self._squares = 0
        self._minimum = math.inf
        self._maximum = -math.inf
        self._view: View | None = None

    def add(self, values: NDArray[Any]) -> None:
        """Count all values of a float16, bfloat16, float32 or float64 array (float64 is rounded to float32)."""
        row = floats(values)
        if row.size < _FEW and self._counter is None:
            self._add_chunk(as_float32(row))
            return
        if counter := self.counter():
            counter.add(row)
            return
        for start in range(0, row.size, _CHUNK):
            self._add_chunk(as_float32(row[start : start + _CHUNK]))

    def counter(self) -> Counter | None:
        """The C++ counter that feeds this sketch, None without the library. Call it again before every use."""
        self._counter = self._counter or new_counter()
        self._pending = self._counter is not None
        return self._counter

    def _fetch(self) -> None:
        """Take over what the C++ counter has counted since the last time."""
        if self._pending and self._counter:
            self._pending = False
            self._absorb(Tally.from_bytes(self._counter.take()))

    def cut(self) -> Self:
        """All that was counted, moved to a sketch of its own; this one goes on empty, with the same counter."""
        part = type(self)()
        part.merge(self)
        counter = self._counter
        self.__init__()  # type: ignore[misc]
        self._counter = counter
        return part

    def _add_chunk(self, row: NDArray[np.float32]) -> None:
        bins = bins_of(row.view(np.uint32))
        finite = (bins.keys & INFINITE) != INFINITE
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
            self._squares += sum_of_squares(row)
            self._bins = self._bins + bins
        self._view = None

    def merge(self, other: Tally) -> None:
        """Count everything that ``other`` has counted, too."""
        if self._pending:
            self._fetch()
        if other._pending:
            other._fetch()
        self._absorb(other)

    def _absorb(self, other: Tally) -> None:
        self._bins = self._bins + other._bins
        self._absorb_rest(other)

    def _absorb_rest(self, other: Tally) -> None:
        self._nans += other._nans
        self._infinities += other._infinities
        self._squares += other._squares
        self._minimum = min(self._minimum, other._minimum)
        self._maximum = max(self._maximum, other._maximum)
        self._view = None

    @property
    def bins(self) -> Bins:
        """The integers that are all of the state besides the extremes and the counts of non-finite values."""
        if self._pending:
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
        if self._pending:
            self._fetch()
        return self._minimum + 0.0 if self._minimum <= self._maximum else 0.0

    @property
    def maximum(self) -> float:
        """Greatest finite value, exact."""
        if self._pending:
            self._fetch()
        return self._maximum + 0.0 if self._minimum <= self._maximum else 0.0

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
    def from_bytes(cls, data: bytes) -> Self:
        """The sketch that ``to_bytes`` wrote.

        Raises:
            CalibrationError: the bytes are of another version, or broken.
        """
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
        return isinstance(other, Tally) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Callable[[bytes], Self], tuple[bytes]]:
        return type(self).from_bytes, (self.to_bytes(),)
