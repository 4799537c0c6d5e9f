"""Whatever a caller holds samples in, it is items: counted and picked by number, or only read one after the other."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..errors import CalibrationError, suggest
from .files import ARRAYS, ArrayFiles, files_below, read_arrays
from .pictures import SUFFIXES, Pictures
from .sources import feeds_of, is_data_set, makes_readers

if TYPE_CHECKING:
    from .model_inputs import Input

WAYS = (
    "a path (.npy, .npz, a picture, or a folder of them), an array or a list of arrays, {input: array}, samples as "
    "{input: array} in a list, generator or reader (get_next()), a loader of x or (x, y), a data set of dicts, or "
    "Pictures(...)"
)


class Items(Protocol):
    """Items of one source. ``single``: an item is one sample without the batch axis; ``table``: a dict may hold more
    than inputs."""

    single: bool
    table: bool
    renames: bool

    @property
    def count(self) -> int | None:
        """How many there are, None where only reading tells."""

    def prepare(self, inputs: Mapping[str, Input]) -> None:
        """Fit to a model before the first item is read."""

    def take(self, numbers: Iterable[int] | None) -> Iterator[tuple[int, Any]]:
        """Items of these numbers, or all of them, each with its number."""

    def where(self, number: int) -> str:
        """What a message calls an item."""

    def label(self, number: int) -> int | None:
        """The class of an item, where its place says it."""


class Numbered:
    """Items of a sequence: a list, a data set with a length and an index, files."""

    single = renames = False

    def __init__(self, source: Any, where: Callable[[int], str] | None = None, *, renames: bool = False) -> None:
        self.source, self._where, self.renames = source, where, renames
        self.table = is_table(source)

    @property
    def count(self) -> int | None:
        return len(self.source)

    def prepare(self, inputs: Mapping[str, Input]) -> None:
        """Nothing to fit."""

    def take(self, numbers: Iterable[int] | None) -> Iterator[tuple[int, Any]]:
        return ((number, self.source[number]) for number in (range(len(self.source)) if numbers is None else numbers))

    def where(self, number: int) -> str:
        return self._where(number) if self._where is not None else f"sample {number}"

    def label(self, number: int) -> int | None:
        return None


class Rows:
    """Rows of an array, or of one array per input: the first axis counts samples."""

    single, table = True, False

    def __init__(self, arrays: Any, name: str = "", *, renames: bool = False) -> None:
        self.arrays, self.name, self.renames = arrays, name, renames
        self._named: dict[str, Any] = dict(arrays) if isinstance(arrays, Mapping) else {"": arrays}

    @property
    def count(self) -> int | None:
        """The number of rows.

        Raises:
            CalibrationError: an array has no axis of samples, or they have different numbers of them.
        """
        counts = {}
        for name, array in self._named.items():
            shape = self._shape(name, array)
            if not shape:
                raise CalibrationError(f"{self._what(name)} has no axis that counts samples")
            counts[name] = shape[0]
        if len(set(counts.values())) > 1:
            found = ", ".join(f"{name} {count}" for name, count in counts.items())
            raise CalibrationError(f"the arrays{self._of()} hold different numbers of samples: {found}")
        return next(iter(counts.values()), 0)

    def prepare(self, inputs: Mapping[str, Input]) -> None:
        """One sample without the batch axis becomes one row; rows must fill the model's batches."""
        self._named = {name: self._as_rows(name, array, inputs) for name, array in self._named.items()}

    def _as_rows(self, name: str, array: Any, inputs: Mapping[str, Input]) -> Any:
        taken = inputs.get(name) or (next(iter(inputs.values())) if len(inputs) == 1 else None)
        if taken is None or taken.shape is None:
            return array
        shape = self._shape(name, array)
        if len(shape) == len(taken.shape) - 1 and len(shape) > 1:
            return array[None]
        if taken.batch is not None and len(shape) == len(taken.shape) and shape[0] % taken.batch:
            raise CalibrationError(
                f"{self._what(name)} has shape {list(shape)}, which are no batches of {taken.batch}; its first axis "
                "counts samples"
            )
        return array

    def take(self, numbers: Iterable[int] | None) -> Iterator[tuple[int, Any]]:
        for number in range(self.count or 0) if numbers is None else numbers:
            if isinstance(self.arrays, Mapping):
                yield number, {name: array[number] for name, array in self._named.items()}
            else:
                yield number, self._named[""][number]

    def _shape(self, name: str, array: Any) -> tuple[int, ...]:
        try:
            return np.shape(array)
        except ValueError as error:
            raise CalibrationError(f"{self._what(name)} is no array: {error}") from error

    def where(self, number: int) -> str:
        return f"row {number}{self._of()}"

    def label(self, number: int) -> int | None:
        return None

    def _of(self) -> str:
        return f" of {self.name!r}" if self.name else ""

    def _what(self, name: str) -> str:
        return f"{name!r}{self._of()}" if name else f"the array{self._of()}"


class Stream:
    """Items that can only be read one after the other: a generator, a loader, a data reader, a function that makes one.

    Raises:
        NotImplementedError: on ``rewind``, where the source can be read only once.
    """

    single = renames = False
    count = None

    def __init__(self, source: Any) -> None:
        self.source, self.table = source, is_table(source)

    def prepare(self, inputs: Mapping[str, Input]) -> None:
        """Nothing to fit."""

    def take(self, numbers: Iterable[int] | None) -> Iterator[tuple[int, Any]]:
        """The next items.

        Raises:
            CalibrationError: the function makes no samples.
        """
        made = self.source() if makes_readers(self.source) else self.source
        if not (hasattr(made, "get_next") or isinstance(made, Iterable) or is_data_set(made)):
            raise CalibrationError(f"the function makes {type(made).__name__} of samples; it must make {WAYS}")
        return enumerate(feeds_of(made))

    def where(self, number: int) -> str:
        return f"sample {number}"

    def label(self, number: int) -> int | None:
        return None

    def rewind(self) -> None:
        if makes_readers(self.source):
            return
        if hasattr(self.source, "rewind"):
            self.source.rewind()
        elif hasattr(self.source, "get_next") or isinstance(self.source, Iterator):
            raise NotImplementedError(f"{type(self.source).__name__} can be read only once")


def is_table(source: Any) -> bool:
    """Whether rows have columns, as those of a Hugging Face data set: more than the model takes is no error."""
    return hasattr(source, "column_names") and not isinstance(source, Mapping)


def is_array(source: Any) -> bool:
    """Whether it is an array or a tensor, of whatever library."""
    return hasattr(source, "shape") and hasattr(source, "dtype") and hasattr(source, "__getitem__")


def items_of(source: Any) -> Items:
    """The items of whatever the caller gave.

    Raises:
        CalibrationError: it is none of the things that hold samples; the message says what does.
    """
    if isinstance(source, Pictures):
        return source
    if isinstance(source, (str, os.PathLike)) and os.fspath(source):
        return _items_at(Path(source))
    if is_array(source):
        return Rows(source)
    if isinstance(source, Mapping):
        _check_arrays(source)
        return Rows(source)
    if hasattr(source, "get_next") or makes_readers(source):
        return Stream(source)
    text = isinstance(source, (str, bytes, bytearray))
    if (isinstance(source, Sequence) or is_data_set(source)) and not text:
        return Numbered(source)
    if isinstance(source, Iterable) and not text:
        return Stream(source)
    told = "an empty path" if isinstance(source, str) and not source else type(source).__name__
    raise CalibrationError(f"the samples are {told}; give {WAYS}")


def _check_arrays(source: Mapping[Any, Any]) -> None:
    for name, array in source.items():
        if not is_array(array) and not isinstance(array, (list, tuple)):
            raise CalibrationError(f"{name!r} of the samples is {type(array).__name__}, not an array [N, ...]")


def _items_at(path: Path) -> Items:
    try:
        is_folder, is_file = path.is_dir(), path.is_file()
        beside = [] if is_folder or is_file or not path.parent.is_dir() else os.listdir(path.parent)
    except (OSError, ValueError) as error:
        raise CalibrationError(f"the data {str(path)!r} cannot be read: {error}") from error
    if is_file:
        if path.suffix.lower() in SUFFIXES:
            return Pictures(path)
        arrays = read_arrays(path)
        return Rows(arrays, str(path), renames=isinstance(arrays, dict))
    if not is_folder:
        hint = suggest(path.name, beside)
        raise CalibrationError(f"the data {str(path)!r} does not exist{hint or '; give a file or a folder of samples'}")
    files, pictures = files_below(path, ARRAYS), files_below(path, SUFFIXES)
    if files and pictures:
        raise CalibrationError(
            f"the folder {str(path)!r} holds arrays ({files[0].name}) and pictures ({pictures[0].name}); "
            "give a folder of one of them"
        )
    if pictures:
        return Pictures(path)
    if not files:
        raise CalibrationError(
            f"the folder {str(path)!r} holds no .npy or .npz file and no picture ({', '.join(SUFFIXES)}); save one "
            "for each sample"
        )
    folder = ArrayFiles(files)
    return Numbered(folder, folder.where, renames=True)
