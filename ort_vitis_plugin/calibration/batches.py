"""Samples are cut into parts: of feeds that were read here, or of a range that a worker reads by itself."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..data_readers import Samples
from ..data_readers.convert_feed import copied
from ..data_readers.sources import between, feeds_of, is_ranged
from ..errors import CalibrationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .observe import Feed

IN_FLIGHT = 16  # parts that wait or run at a time; bounds the samples in memory


@dataclass(frozen=True)
class Batch:
    """Samples ``first`` and following: feeds, or a reader that gives samples first to stop where the work is done."""

    first: int
    stop: int | None
    source: Any
    constants: bool

    def feeds(self) -> Iterable[Feed]:
        if self.stop is None:
            return feeds_of(self.source)
        return feeds_of(between(self.source, self.first, self.stop), self.first)


def batches_of(reader: Any, skip: int, size: int | None, *, here: bool) -> Iterator[Batch]:
    """The samples from number ``skip`` on, cut into parts; in one process without checkpoints there is one part.

    Raises:
        CalibrationError: the reader fails, or has fewer samples than were done before.
    """
    source = reader.reader if isinstance(reader, Samples) else reader
    count = len(reader) if not here and is_ranged(source) and _travels(reader) else None
    if count is not None:
        step = size or min(max(count // IN_FLIGHT, 1), 16)
        for first in range(skip, count, step):
            yield Batch(first, min(first + step, count), reader, first == 0)
        return
    samples = feeds_of(reader)
    for number in range(skip):
        if next(samples, None) is None:
            raise CalibrationError(f"the checkpoint holds {skip} samples, but the reader has only {number}")
    if here and size is None:
        yield Batch(skip, None, samples, skip == 0)
        return
    first = skip
    while True:
        feeds, error = _read(samples, size or 8)
        if feeds or (error is None and first == 0):
            yield Batch(first, None, feeds, first == 0)
        first += len(feeds)
        if error:
            raise error
        if len(feeds) < (size or 8):
            return


def _travels(reader: Any) -> bool:
    """Whether a reader can be sent to another process; one with open files or of a local class is read here."""
    try:
        pickle.dumps(reader)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


def _read(samples: Iterator[Feed], count: int) -> tuple[list[Feed], Exception | None]:
    """Up to ``count`` samples, and what the reader raised behind the last one."""
    feeds: list[Feed] = []
    try:
        for feed in samples:
            feeds.append(copied(feed))
            if len(feeds) == count:
                break
    except Exception as error:  # told after the samples before it are counted
        return feeds, error
    return feeds, None
