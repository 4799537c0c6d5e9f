"""A model and the file of its weights always agree, because that file is named after what it holds.

    q.onnx  ->  q.onnx.<16 hex digits of its SHA-256>.data

The weights are in their place before the model that names them. Those of the model that was replaced stay until the
next call, for a reader who has opened it; older ones go, unless another model in the folder names them.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import hashlib
import mmap
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

import onnx
from google.protobuf.message import DecodeError, EncodeError
from onnx import GraphProto, ModelProto, TensorProto

from ..errors import OutputError
from .external_weights import copy_fields, tensors
from .signals import held_signals
from .whole_file import (
    Scratch,
    as_output_error,
    folder_lock,
    is_protected,
    is_stream,
    note_written,
    place_of,
    refuse_protected,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

MOVED = 1024  # bytes from which on a tensor leaves the model, as in onnx.save_model
PAGE, LARGE = 4096, 1 << 20  # tensors from LARGE on begin at a page, where onnxruntime can map them


def save_in_two_files(model: ModelProto, path: str | Path) -> None:
    """Write the model, and its weights beside it. No moment mixes old and new.

    Raises:
        OutputError: they cannot be written; the path is a stream, or a link to another folder, from which nobody
            would find the weights.
    """
    if is_stream(path):
        raise OutputError("weights in a file of their own need a model in a file: name one, instead of standard output")
    place = place_of(path)
    if os.path.islink(path) and Path(os.path.realpath(Path(path).parent)) != place.parent:
        raise OutputError(
            f"the output {str(path)!r} is a link to {str(place)!r}: weights in a file of their own would be looked for "
            "beside the link; name the file itself"
        )
    refuse_protected(place)
    with as_output_error(path), held_signals():
        weights, light = Scratch(place), Scratch(place)
        try:
            bare = without_weights(model, weights.file)
            weights.file.seek(0)
            name = f"{place.name}.{_digest(weights.file)}.data"
            _name_weights(bare, name)
            try:
                light.file.write(bare.SerializeToString())
            except (EncodeError, ValueError) as error:
                raise OutputError(f"the model without its weights is beyond protobuf's 2 GB: {error}") from error
            for scratch in (weights, light):
                scratch.finish()
            with folder_lock(place.parent) as alone:
                _put(weights, light, place, name, alone=alone)
            note_written(Path(path))
        finally:
            weights.discard()
            light.discard()


def without_weights(model: ModelProto, file: IO[bytes]) -> ModelProto:
    """The model, whose large initializers are written to a file; offsets and lengths are stated, the name is not."""
    bare = ModelProto()
    copy_fields(model, bare, "graph")
    copy_fields(model.graph, bare.graph, "initializer")
    for tensor in model.graph.initializer:
        if len(tensor.raw_data) < MOVED:
            bare.graph.initializer.append(tensor)
        else:
            light = bare.graph.initializer.add()
            copy_fields(tensor, light, "raw_data")
            _move(tensor.raw_data, light, file)
    for tensor in _inner_tensors(bare.graph):
        if len(tensor.raw_data) >= MOVED:
            raw = tensor.raw_data
            tensor.ClearField("raw_data")
            _move(raw, tensor, file)
    return bare


def _move(raw: bytes, tensor: TensorProto, file: IO[bytes]) -> None:
    if len(raw) >= LARGE:
        file.write(bytes(-file.tell() % PAGE))
    tensor.data_location = TensorProto.EXTERNAL
    for key, number in (("offset", file.tell()), ("length", len(raw))):
        tensor.external_data.add(key=key, value=str(number))
    file.write(raw)


def _name_weights(bare: ModelProto, name: str) -> None:
    for tensor in (*bare.graph.initializer, *_inner_tensors(bare.graph)):
        if tensor.data_location == TensorProto.EXTERNAL:
            entries = [(entry.key, entry.value) for entry in tensor.external_data]
            del tensor.external_data[:]
            for key, value in (("location", name), *entries):
                tensor.external_data.add(key=key, value=value)


def _inner_tensors(graph: GraphProto) -> Iterator[TensorProto]:
    """Initializers of the bodies in a graph."""
    for node in graph.node:
        for entry in node.attribute:
            for body in (entry.g, *entry.graphs) if entry.HasField("g") or entry.graphs else ():
                yield from body.initializer
                yield from _inner_tensors(body)


def _digest(file: IO[bytes]) -> str:
    return hashlib.file_digest(file, "sha256").hexdigest()[:16]  # type: ignore[arg-type] # a file opened for both


def _put(weights: Scratch, light: Scratch, place: Path, name: str, *, alone: bool) -> None:
    """Weights, then model; then what two generations ago was there goes."""
    target, pattern = place.with_name(name), re.compile(re.escape(place.name) + r"\.[0-9a-f]{16}\.data")
    found = {entry for entry in os.listdir(place.parent) if pattern.fullmatch(entry)}
    previous = weights_of(place) if found else set()
    done = False
    try:
        if name in found:
            refuse_protected(target)
        weights.put(target)
        light.put(place)
        done = True
    finally:
        if not done and name not in found:
            with suppress(OSError):
                target.unlink()
    if alone:
        _sweep(place.parent, found - previous - {name}, place)


def weights_of(path: Path) -> set[str]:
    """The files that a model names for its weights; none where there is no model."""
    try:
        model = onnx.load(str(path), load_external_data=False)
    except (OSError, DecodeError, ValueError):
        return set()
    return {entry.value for tensor in tensors(model.graph) for entry in tensor.external_data if entry.key == "location"}


def stored_bytes(path: str | Path) -> int:
    """Bytes of a model as it lies there: of its file, and of the data files that its tensors name."""
    files = {Path(path), *(Path(path).parent / name for name in weights_of(Path(path)))}
    return sum(file.stat().st_size for file in files)


def _sweep(folder: Path, old: set[str], place: Path) -> None:
    """Remove files of weights that no model in the folder names; a model that cannot be read may name any of them."""
    if not old:
        return
    for path in folder.glob("*.onnx"):
        if path.name == place.name or not path.is_file():
            continue
        try:
            with (
                suppress(ValueError),  # an empty file
                open(path, "rb") as file,
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
            ):
                old = {name for name in old if content.find(os.fsencode(name)) < 0}
        except OSError:
            return
    for name in old:
        if not is_protected(folder / name):
            with suppress(OSError):
                os.unlink(folder / name)
