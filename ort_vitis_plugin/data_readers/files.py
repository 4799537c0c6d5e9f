"""Samples in files: an .npz with one array per input, a .npy for a single input, or a folder of one file a sample."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import CalibrationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

ARRAYS = (".npy", ".npz")


def read_arrays(file: Path) -> NDArray[Any] | dict[str, NDArray[Any]]:
    """What a file holds: one array (.npy), or arrays by name (.npz). Pickles are not opened.

    Raises:
        CalibrationError: the file cannot be read as either.
    """
    if file.suffix.lower() not in ARRAYS:
        raise CalibrationError(f"the data {str(file)!r} is neither .npy nor .npz, nor a picture")
    try:
        with open(file, "rb") as stream:  # numpy leaves a broken archive open
            loaded = np.load(stream, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return loaded
            return {name: loaded[name] for name in loaded.files}
    except MemoryError:
        raise
    except Exception as error:  # broken archives and headers make zipfile, zlib, ast and tokenize raise what they meet
        raise CalibrationError(f"the data {str(file)!r} cannot be read: {read_failure(error)}") from error


def read_failure(error: Exception) -> str:
    """Why numpy could not read a file. Its advice to open pickles, which run code, is left out."""
    text = str(error)
    return "it is neither .npy nor .npz, or holds Python objects" if "pickle" in text else text


def files_below(folder: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """The files of a folder and all folders in it with one of these suffixes, in the order of their names.

    Hidden files are left out: file managers leave some beside the data.
    """
    found, seen = [], set[str]()
    for path, inner, names in os.walk(folder, followlinks=True):
        seen.add(os.path.realpath(path))
        # Links may lead back to a folder above.
        linked = (name for name in inner if os.path.realpath(os.path.join(path, name)) not in seen)
        inner[:] = [name for name in linked if not name.startswith(".")]
        found += [Path(path, name) for name in names if not name.startswith(".")]
    return sorted(file for file in found if file.suffix.lower() in suffixes and file.is_file())


class ArrayFiles:
    """A folder of .npy and .npz files, each of which is one sample; they are read when they are asked for."""

    def __init__(self, files: list[Path]) -> None:
        self.files = files

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, number: int) -> NDArray[Any] | dict[str, NDArray[Any]]:
        return read_arrays(self.files[number])

    def __iter__(self) -> Iterator[NDArray[Any] | dict[str, NDArray[Any]]]:
        return (read_arrays(file) for file in self.files)

    def where(self, number: int) -> str:
        """The file of a sample, for messages."""
        return repr(str(self.files[number]))
