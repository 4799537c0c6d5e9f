"""What a caller may read samples from: get_next, an iterable, a data set; some can be read from the middle."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def feeds_of(reader: Any) -> Iterator[Any]:
    """The samples of a data reader, of an iterable, or of a data set that has only a length and an index."""
    if hasattr(reader, "get_next"):
        while (feed := reader.get_next()) is not None:
            yield feed
    elif not hasattr(reader, "__iter__"):
        yield from (reader[at] for at in range(len(reader)))
    else:
        yield from reader


def is_ranged(reader: Any) -> bool:
    """Whether a reader can be read from any sample on: by an index, or by set_range (ORT's class only names it)."""
    if isinstance(reader, (list, tuple, type)):
        return False  # all of it would go along with every part
    ranged = getattr(type(reader), "set_range", None)
    if not hasattr(reader, "__getitem__") and (ranged is None or ranged.__module__.startswith("onnxruntime.")):
        return False
    try:
        return len(reader) >= 0
    except (NotImplementedError, TypeError):
        return False


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
