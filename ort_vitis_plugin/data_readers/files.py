"""Samples from files: an .npz with one array per input, a .npy for a single input, or a folder of one file a sample."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, ValueInfoProto, helper

from ..errors import CalibrationError, suggest
from . import Feed

Arrays = dict[str, NDArray[Any]]

SUFFIXES = (".npy", ".npz")


class SampleFiles:
    """A calibration reader over files. Samples are read when they are asked for, and can be read again.

    A file holds N samples along the first axis of every array. In a folder each file is one sample, in the order of
    the names; its arrays have the input's shape, or that shape without the batch dimension.
    """

    def __init__(self, path: str | Path, model: ModelProto) -> None:
        self.path = Path(path)
        constants = {tensor.name for tensor in model.graph.initializer}
        self._inputs = {value.name: value for value in model.graph.input if value.name not in constants}
        if self.path.is_dir():
            self._files = sorted(file for file in self.path.iterdir() if file.suffix in SUFFIXES)
            self._arrays: Arrays = {}
            self._count = len(self._files)
            if not self._files:
                raise CalibrationError(f"the folder {str(path)!r} holds no .npy or .npz file; save one for each sample")
        elif self.path.is_file():
            self._files = []
            self._arrays = self._read(self.path)
            self._count = self._batches()
        else:
            raise CalibrationError(f"the data {str(path)!r} does not exist; give an .npz file or a folder of samples")
        self.rewind()

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Feed]:
        return (self._sample(number) for number in range(self._count))

    def rewind(self) -> None:
        """Start again."""
        self._rest = iter(self)

    def get_next(self) -> Feed | None:
        return next(self._rest, None)

    def _sample(self, number: int) -> Feed:
        if self._files:
            read = self._read(self._files[number])
            return {name: self._with_batch(name, array) for name, array in read.items()}
        return {name: self._slice(name, array, number) for name, array in self._arrays.items()}

    def _read(self, file: Path) -> Arrays:
        """The arrays of one file by input name, each of the input's element type."""
        if file.suffix not in SUFFIXES:
            raise CalibrationError(f"the data {str(file)!r} is neither .npy nor .npz")
        try:
            loaded = np.load(file, allow_pickle=False)
            stored = {name: loaded[name] for name in loaded.files} if file.suffix == ".npz" else {"": loaded}
        except (OSError, ValueError, EOFError, BadZipFile) as error:
            raise CalibrationError(f"the data {str(file)!r} cannot be read: {error}") from error
        if len(stored) == 1 == len(self._inputs):
            stored = dict(zip(self._inputs, stored.values(), strict=True))
        self._check_names(file, stored)
        return {name: self._cast(file, name, stored[name]) for name in self._inputs}

    def _check_names(self, file: Path, stored: Mapping[str, object]) -> None:
        wanted = ", ".join(self._inputs)
        if "" in stored:
            raise CalibrationError(f"{str(file)!r} holds one array, but the model takes {wanted}; save them as .npz")
        for name in self._inputs:
            if name not in stored:
                raise CalibrationError(
                    f"{str(file)!r} holds {', '.join(stored) or 'no array'}, but nothing for the input {name!r}"
                    f"{suggest(name, stored)}"
                )
        for name in stored:
            if name not in self._inputs:
                raise CalibrationError(f"{str(file)!r} holds {name!r}, but the model's inputs are {wanted}")

    def _cast(self, file: Path, name: str, array: NDArray[Any]) -> NDArray[Any]:
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(self._inputs[name].type.tensor_type.elem_type))
        if array.dtype.kind != dtype.kind:
            raise CalibrationError(f"{name!r} in {str(file)!r} is {array.dtype}, but the model takes {dtype}")
        return array.astype(dtype, copy=False)

    def _batches(self) -> int:
        counts = {}
        for name, array in self._arrays.items():
            batch = self._batch(name, array)
            if array.ndim == 0 or array.shape[0] % batch:
                raise CalibrationError(
                    f"{name!r} in {str(self.path)!r} has shape {list(array.shape)}, which are no batches of {batch}; "
                    f"its first axis counts samples"
                )
            counts[name] = array.shape[0] // batch
        if len(set(counts.values())) > 1:
            found = ", ".join(f"{name} {count}" for name, count in counts.items())
            raise CalibrationError(f"the arrays of {str(self.path)!r} hold different numbers of samples: {found}")
        return next(iter(counts.values()), 0)

    def _batch(self, name: str, array: NDArray[Any]) -> int:
        """How many entries of the first axis one sample takes."""
        dims = self._inputs[name].type.tensor_type.shape.dim
        if array.ndim != len(dims) or not dims:
            return 1
        return int(dims[0].dim_value) or 1

    def _slice(self, name: str, array: NDArray[Any], number: int) -> NDArray[Any]:
        if array.ndim == _rank(self._inputs[name]) + 1:
            return np.asarray(array[number])
        batch = self._batch(name, array)
        return array[number * batch : (number + 1) * batch]

    def _with_batch(self, name: str, array: NDArray[Any]) -> NDArray[Any]:
        return array[None] if array.ndim == _rank(self._inputs[name]) - 1 else array


def _rank(value: ValueInfoProto) -> int:
    return len(value.type.tensor_type.shape.dim)
