"""What a sample shows is told by the folder in which it lies, by a list, or by a table of file names and classes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import CalibrationError
from .convert_feed import adapt_feed
from .data_objects import CalibrationData
from .samples import Samples

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import ModelProto

    from .convert_feed import Feed


def labelled_samples(data: Any, labels: Any, model: ModelProto) -> Iterator[tuple[Feed, NDArray[Any] | None]]:
    """Samples as ``model`` takes them, each with the classes of its rows, None where nothing tells them.

    ``labels`` is None (class folders of pictures tell), a list of whole numbers in the order of the rows, or the path
    of a CSV file: its last column holds them, in the order of the rows, below a heading if there is one.

    Raises:
        CalibrationError: there are fewer or more labels than rows, or one is no whole number.
    """
    if labels is None and isinstance(data, CalibrationData):
        yield from data.bound_to(model).labelled()
        return
    samples = Samples(data, model)
    samples.rewind()
    if labels is None:
        yield from ((feed, None) for feed in samples)
        return
    rest = iter(_numbers(labels))
    used = 0
    for feed in samples:
        adapted = adapt_feed(model, feed)
        rows = max((np.shape(value)[0] for value in adapted.values() if np.ndim(value)), default=1)
        found = [number for _, number in zip(range(rows), rest, strict=False)]
        used += len(found)
        if len(found) < rows:
            raise CalibrationError(f"there are labels for {used} rows only, but the samples have more; one per row")
        yield feed, np.asarray(found)
    left = sum(1 for _ in rest)
    if left:
        raise CalibrationError(f"there are {used + left} labels for {used} rows of samples; give one per row, in order")


def _numbers(labels: Any) -> Iterable[int]:
    if isinstance(labels, (str, Path)):
        return _of_csv(Path(labels))
    if not isinstance(labels, Iterable):
        raise CalibrationError(f"labels take a list of whole numbers or the path of a CSV file, not {labels!r}")
    flat = list(chain.from_iterable(np.atleast_1d(np.asarray(each)) for each in labels))
    wrong = [each for each in flat if not _is_class(each)]
    if wrong:
        raise CalibrationError(f"labels are whole numbers from 0 on, not {_shown(wrong[0])!r}")
    return [int(each) for each in flat]


def _shown(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _is_class(value: Any) -> bool:
    try:
        return bool(int(value) == value)
    except (ValueError, TypeError, OverflowError):
        return False


def _of_csv(path: Path) -> list[int]:
    try:
        rows = [row for row in csv.reader(path.read_text(encoding="utf-8-sig").splitlines()) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CalibrationError(f"the labels {str(path)!r} cannot be read: {error}") from error
    cells = [row[-1].strip() for row in rows]
    if cells and not cells[0].isdecimal():
        del cells[0]  # the heading
    wrong = next((at for at, cell in enumerate(cells, 1) if not cell.isdecimal()), None)
    if wrong is not None:
        raise CalibrationError(f"row {wrong} of {str(path)!r} ends with {cells[wrong - 1]!r}, which is no class number")
    return [int(cell) for cell in cells]
