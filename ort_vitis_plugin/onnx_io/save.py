"""A model is written in parts: whole, its bytes need as much memory again twice."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.protobuf.message import EncodeError

from .external_weights import LARGE, copy_field
from .two_files import save_in_two_files
from .whole_file import whole_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from onnx import ModelProto, TensorProto

GRAPH, INITIALIZER, RAW_DATA = 7, 5, 9  # field numbers in onnx.proto
# Protobuf ends at 2^31 bytes; some room is left for the nodes.
LARGEST_FILE = 2_000_000_000


def model_size(model: ModelProto) -> int:
    """Bytes of the model; of one whose nodes alone protobuf cannot serialize (beyond 2 GB), those of its weights."""
    initializers = model.graph.initializer
    weights = 0
    try:
        if not any(len(tensor.raw_data) >= LARGE for tensor in initializers):
            return int(model.ByteSize())
        weights = sum(map(_length, initializers))
        return sum(map(len, ends(model))) + weights
    except EncodeError:
        return max(LARGEST_FILE, weights)


def serialized(model: ModelProto) -> Iterator[bytes]:
    """The bytes of ``SerializeToString`` in parts, no initializer copied: whole, they need as much memory again twice
    (``ByteSize`` too: it serializes)."""
    head, graph_head, graph_tail, tail = ends(model)
    sizes = [_length(tensor) for tensor in model.graph.initializer]
    inner = sum(len(_header(INITIALIZER, size)) + size for size in sizes)
    yield head + _header(GRAPH, len(graph_head) + inner + len(graph_tail)) + graph_head
    for tensor, size in zip(model.graph.initializer, sizes, strict=True):
        before, after = _split(tensor, "raw_data")
        raw = _header(RAW_DATA, len(tensor.raw_data)) if tensor.HasField("raw_data") else b""
        yield _header(INITIALIZER, size) + before + raw
        yield tensor.raw_data
        yield after
    yield graph_tail + tail


def ends(model: ModelProto) -> tuple[bytes, bytes, bytes, bytes]:
    """What is serialized before the graph, in it before the initializers, in it after them, and after it."""
    head, tail = _split(model, "graph")
    graph_head, graph_tail = _split(model.graph, "initializer")
    return head, graph_head, graph_tail, tail


def _length(tensor: TensorProto) -> int:
    """Bytes of a serialized tensor; protobuf knows them by serializing, which is dear for large ones alone."""
    if len(tensor.raw_data) < LARGE:
        return int(tensor.ByteSize())
    size = sum(map(len, _split(tensor, "raw_data")))
    if tensor.HasField("raw_data"):
        raw = len(tensor.raw_data)
        size += len(_header(RAW_DATA, raw)) + raw
    return size


def _split(message: Any, name: str) -> tuple[bytes, bytes]:
    """What is serialized before and after a field: protobuf writes fields in the order of their numbers."""
    middle = message.DESCRIPTOR.fields_by_name[name].number
    parts = type(message)(), type(message)()
    for field, value in message.ListFields():
        if field.number != middle:
            copy_field(parts[field.number > middle], field.name, value)
    return parts[0].SerializeToString(), parts[1].SerializeToString()


def _header(number: int, size: int) -> bytes:
    """Tag and length of a field of bytes (protobuf's wire format: type 2, lengths in groups of seven bits)."""
    found = bytearray([number << 3 | 2])
    while size > 0x7F:
        found.append(size & 0x7F | 0x80)
        size >>= 7
    found.append(size)
    return bytes(found)


def save_model(model: ModelProto, path: str | Path, *, external_data: bool) -> None:
    """Write the model; with ``external_data`` (or beyond 2 GB) its weights go to ``<file>.<digest>.data`` beside it.

    Raises:
        OutputError: it cannot be written, or not to such a place.
    """
    if external_data or model_size(model) >= LARGEST_FILE:
        save_in_two_files(model, path)
        return
    with whole_file(path) as file:
        for part in serialized(model):
            file.write(part)
