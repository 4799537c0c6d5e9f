"""Tensors of many samples wait for their readers in memory; beyond a limit they lie in files."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from types import TracebackType

    from numpy.typing import NDArray


class TensorCache:
    """(tensor, sample) -> array; at most ``limit`` bytes in memory, the rest in a temporary folder until closed."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held: dict[str, list[NDArray[Any] | Path]] = {}
        self._bytes = 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._written = 0

    def __enter__(self) -> TensorCache:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.clear()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def __contains__(self, tensor: str) -> bool:
        return tensor in self._held

    def append(self, tensor: str, array: NDArray[Any]) -> None:
        """The tensor's value for the next sample."""
        if self._bytes + array.nbytes <= self._limit or array.dtype.kind not in "fiub":
            self._bytes += array.nbytes
            self._held.setdefault(tensor, []).append(array)
            return
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="ort_vitis_finetune_")
        path = Path(self._folder.name) / f"{self._written}.npy"
        self._written += 1
        np.save(path, array)
        self._held.setdefault(tensor, []).append(path)

    def get(self, tensor: str, sample: int) -> NDArray[Any]:
        """The tensor's value for one sample."""
        held = self._held[tensor][sample]
        return np.load(held) if isinstance(held, Path) else held

    def put(self, tensor: str, sample: int, array: NDArray[Any]) -> None:
        """Another value of the same size for one sample."""
        held = self._held[tensor][sample]
        if isinstance(held, Path):
            np.save(held, array)
        else:
            self._held[tensor][sample] = array

    def drop(self, tensor: str) -> None:
        """Forget a tensor that nobody reads any more."""
        for held in self._held.pop(tensor, ()):
            if isinstance(held, Path):
                held.unlink()
            else:
                self._bytes -= held.nbytes

    @property
    def spilled(self) -> int:
        """How many arrays went to files."""
        return self._written
