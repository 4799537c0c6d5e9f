"""What a caller may read samples from: get_next, an iterable, a data set; some can be read from the middle."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any

from ..foreign import callers_code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

END = object()  # behind the last sample


def feeds_of(reader: Any, first: int = 0) -> Iterator[Any]:
    """The samples of a data reader, of an iterable, or of a data set that has only a length and an index.

    ``first`` is the number of the first one, for notes on what the reader raises.
    """
    for number in count(first):
        with callers_code(f"the calibration data reader at sample {number}"):
            if number == first:
                next_of = _reading(reader)
            try:
                feed = next_of()
            except StopIteration:
                return
        if feed is END:
            return
        yield feed


def _reading(reader: Any) -> Callable[[], Any]:
    """What gives the next sample, and at the end ``END`` or raises StopIteration."""
    if hasattr(reader, "get_next"):
        return lambda: END if (feed := reader.get_next()) is None else feed
    if not hasattr(reader, "__iter__"):
        return (reader[at] for at in range(len(reader))).__next__
    samples = iter(reader)
    return lambda: next(samples)


def is_ranged(reader: Any) -> bool:
    """Whether a reader can be read from any sample on: by an index, or by set_range (ORT's class only names it)."""
    if isinstance(reader, (list, tuple, type)):
        return False  # all of it would go along with every part
    ranged = getattr(type(reader), "set_range", None)
    if not hasattr(reader, "__getitem__") and (ranged is None or ranged.__module__.startswith("onnxruntime.")):
        return False
    return length_of(reader) is not None


def length_of(reader: Any) -> int | None:
    """How many samples a reader says it has; None where it does not know, or its ``__len__`` is broken."""
    try:
        return len(reader)
    except Exception:  # code of the caller, which may raise anything; only progress and shares of work ask
        return None


def between(reader: Any, start: int, stop: int) -> Any:
    """Some samples of a reader that ``is_ranged``, which stays as it is."""
    if hasattr(reader, "__getitem__"):
        return (reader[at] for at in range(start, stop))
    reader = copy.copy(reader)
    reader.set_range(start, stop)
    return reader


def is_data_set(reader: Any) -> bool:
    """Whether it has a length and an index."""
    return hasattr(reader, "__getitem__") and hasattr(reader, "__len__") and not isinstance(reader, Mapping)


def makes_readers(reader: Any) -> bool:
    """Whether it is no reader, but a function or class that makes one."""
    is_reader = hasattr(reader, "get_next") or isinstance(reader, Iterable) or is_data_set(reader)
    return isinstance(reader, type) or (callable(reader) and not is_reader)
