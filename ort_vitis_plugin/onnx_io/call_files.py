"""What a call reads it does not write: one list of its files, told apart by what they are, not by how they are named.

Files whose meaning is both (caches, checkpoints) may be read and written, but are no other file of the call.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError

from ..errors import OutputError
from .two_files import weights_of
from .whole_file import check_place, identity_of, is_stream, protected

Named = tuple[str, str | Path]

MODEL = "the input itself"


@dataclass
class CallFiles:
    """Paths of one call, each with what a message calls it. ``folders`` are written into."""

    reads: list[Named] = field(default_factory=list)
    writes: list[Named] = field(default_factory=list)
    both: list[Named] = field(default_factory=list)
    folders: list[Named] = field(default_factory=list)

    def read_model(self, model: object, what: str = MODEL) -> None:
        """Note a model, if it is a file; the files of its weights are read too."""
        if isinstance(model, (str, Path)) and str(model):
            self.reads.append((what, model))

    @property
    def streamed(self) -> bool:
        """Whether a file of the call is this process's standard output."""
        return any(is_stream(path) for _, path in self.writes)

    def check(self) -> None:
        """Raise, before any work, where a file cannot be written, or would be written over one that is read.

        Raises:
            OutputError: so it is; the message names both.
            ModelNotFoundError: the folder of an output does not exist.
        """
        for _, path in self.writes:
            if not is_stream(path):
                check_place(path)
        for what, path in self.folders:
            if os.path.exists(path) and not os.path.isdir(path):
                raise OutputError(f"{what} {str(path)!r} is a file; give a folder")
        for _, path in self.both:
            if Path(path).parent.is_dir() and (os.path.isfile(path) or not os.path.exists(path)):
                check_place(path)
        taken = {_key(path): (what, path) for what, path in self._read()}
        for what, path in (*self.both, *self.writes):
            if _key(path) in taken:
                other, _ = taken[_key(path)]
                raise OutputError(
                    f"{what} {str(path)!r} is {other}, which is never overwritten; choose another file name"
                )
            taken[_key(path)] = what, path

    def protected(self) -> AbstractContextManager[None]:
        """A block in which no file is replaced that the call reads."""
        return protected(Path(path) for _, path in self._read())

    def _read(self) -> Iterator[Named]:
        """All that is read. The weights of models are looked up only where an output exists that may be one of them."""
        yield from self.reads
        written = [path for _, path in (*self.writes, *self.both) if identity_of(path) is not None]
        for what, path in self.reads if written or self.folders else ():
            if Path(path).is_file() and Path(path).suffix == ".onnx":
                with suppress(OSError, DecodeError, ValueError, onnx.checker.ValidationError):
                    for name in weights_of(Path(path)):
                        yield f"a file of weights of {what}", Path(path).parent / name


def _key(path: str | Path) -> object:
    if is_stream(path):
        return "standard output"
    try:
        return identity_of(path) or os.path.realpath(path)
    except (OSError, ValueError):
        return str(path)
