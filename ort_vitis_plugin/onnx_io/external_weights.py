"""Large weights lie beside the model, not in it: a message that holds them is copied whole at every step.

    TensorProto(data_location = EXTERNAL, external_data = [location: "beside ...", offset: "17"])  ->  array 17

The location ends in a number that no model from outside can know.

Inside an ``external_weights_scope`` large initializers are set aside, once; checkers, shape inference and copies see
messages without them, sessions get them as they lie in memory, and ``internalize`` puts them back at the end.
Protobuf's limit of 2 GB is then no limit of the pipeline.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import secrets
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np
import onnxruntime as ort
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx.external_data_helper import load_external_data_for_tensor

from .time_limit import LimitedSession

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from onnx import GraphProto, NodeProto

LARGE = 1 << 16  # bytes; what shape inference and onnxruntime read while they load is smaller
KINDS = frozenset(
    {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE}
    | {TensorProto.INT8, TensorProto.UINT8, TensorProto.INT16, TensorProto.UINT16, TensorProto.INT32}
)
_BESIDE = f"beside {secrets.token_hex(8)}"

_numbers = count()
_arrays: WeakValueDictionary[str, Any] = WeakValueDictionary()
_shelf: ContextVar[list[NDArray[Any]] | None] = ContextVar("external_weights_scope", default=None)


@contextmanager
def external_weights_scope() -> Iterator[None]:
    """Where large weights lie until the block ends (or whoever else holds the array lets go of it)."""
    token = _shelf.set([])
    try:
        yield
    finally:
        _shelf.reset(token)


def is_aside(tensor: TensorProto) -> bool:
    """Whether the tensor's values lie beside its message."""
    if tensor.data_location != TensorProto.EXTERNAL or len(tensor.external_data) != 2:
        return False
    return bool(tensor.external_data[0].value == _BESIDE)


def array_of(tensor: TensorProto) -> NDArray[Any]:
    """The values of a tensor in its shape and type, wherever they lie; read-only where they are shared."""
    if not is_aside(tensor):
        return numpy_helper.to_array(tensor)
    array: NDArray[Any] = _arrays[tensor.external_data[1].value]
    return array


def nbytes(tensor: TensorProto) -> int:
    """Bytes of a tensor's values, wherever they lie."""
    if is_aside(tensor):
        return array_of(tensor).nbytes
    return len(tensor.raw_data) or tensor.ByteSize()


def arrays_of(model: ModelProto) -> list[NDArray[Any]]:
    """All that lies beside the model; who holds the list may use the model after the external_weights_scope is gone."""
    return [array_of(tensor) for tensor in model.graph.initializer if is_aside(tensor)]


def tensor_of(array: NDArray[Any], name: str) -> TensorProto:
    """A tensor of these values: beside its message where a external_weights_scope is there and it is large."""
    array = np.asarray(array, order="C")
    kind = TensorProto.STRING if array.dtype == object else helper.np_dtype_to_tensor_dtype(array.dtype)
    if _shelf.get() is None or kind not in KINDS or array.nbytes < LARGE:
        return numpy_helper.from_array(array, name)
    tensor = TensorProto(name=name, data_type=kind, dims=array.shape)
    _put(tensor, array)
    return tensor


def lightened(tensor: TensorProto) -> TensorProto:
    """The tensor itself, or where a external_weights_scope is there and it is large one whose values lie beside it."""
    raw = tensor.raw_data if tensor.data_type in KINDS and _shelf.get() is not None else b""
    if len(raw) < LARGE:
        return tensor
    light = TensorProto()
    copy_fields(tensor, light, "raw_data", "data_location", "external_data")
    values = np.frombuffer(raw, helper.tensor_dtype_to_np_dtype(tensor.data_type))
    _put(light, values.reshape(tuple(tensor.dims)))
    return light


def set_values(tensor: TensorProto, array: NDArray[Any]) -> None:
    """Give a tensor other values, and their shape and type, where its old ones lay."""
    new = tensor_of(array, tensor.name) if is_aside(tensor) else numpy_helper.from_array(array, tensor.name)
    tensor.CopyFrom(new)


def _put(tensor: TensorProto, array: NDArray[Any]) -> None:
    held = _shelf.get()
    assert held is not None
    array = array.view()
    array.flags.writeable = False
    held.append(array)
    number = str(next(_numbers))
    _arrays[number] = array
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=_BESIDE)
    tensor.external_data.add(key="offset", value=number)


def externalize(model: ModelProto) -> ModelProto:
    """A copy of the model whose large initializers lie beside it; whole where no external_weights_scope is there."""
    copy = ModelProto()
    copy_fields(model, copy, "graph")
    copy_fields(model.graph, copy.graph, "initializer")
    for tensor in model.graph.initializer:
        copy.graph.initializer.append(lightened(tensor))
    return copy


def copy_fields(source: Any, target: Any, *but: str) -> None:
    """Give a message what another one holds, but for some fields."""
    for field, value in source.ListFields():
        if field.name not in but:
            copy_field(target, field.name, value)


def copy_field(message: Any, name: str, value: Any) -> None:
    """Set a field, of whatever kind, to a value that another message has there."""
    if hasattr(value, "CopyFrom"):
        getattr(message, name).CopyFrom(value)
    elif isinstance(value, (str, int, float, bytes)):
        setattr(message, name, value)
    else:
        getattr(message, name).extend(value)


def fill_tensor(tensor: TensorProto) -> None:
    """Put the values back into the message."""
    if is_aside(tensor):
        array = array_of(tensor)
        tensor.ClearField("external_data")
        tensor.ClearField("data_location")
        tensor.raw_data = array.tobytes()


def internalize(model: ModelProto) -> ModelProto:
    """The same model, with everything in it; the external_weights_scope is cleared."""
    held = _shelf.get()
    waiting = {tensor.name: array_of(tensor) for tensor in model.graph.initializer if is_aside(tensor)}
    if held is not None:
        held.clear()
    for tensor in model.graph.initializer:
        fill_tensor(tensor)
        waiting.pop(tensor.name, None)
    return model


def internalized(model: ModelProto) -> ModelProto:
    """The model if nothing lies beside it, else a copy with everything in it."""
    if not any(is_aside(tensor) for tensor in model.graph.initializer):
        return model
    copy = ModelProto()
    copy.CopyFrom(model)
    for tensor in copy.graph.initializer:
        fill_tensor(tensor)
    return copy


def weights_as_inputs(model: ModelProto) -> ModelProto:
    """What a checker takes: what lies beside the model becomes an input of its type and shape."""
    aside = [tensor for tensor in model.graph.initializer if is_aside(tensor)]
    if not aside:
        return model
    copy = ModelProto()
    copy.CopyFrom(model)
    listed = {value.name for value in model.graph.input}
    for tensor in aside:
        if tensor.name not in listed:
            copy.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    kept = [tensor for tensor in model.graph.initializer if not is_aside(tensor)]
    del copy.graph.initializer[:]
    copy.graph.initializer.extend(kept)
    return copy


def size(model: ModelProto) -> int:
    """Bytes of what lies beside the model."""
    return sum(array.nbytes for array in arrays_of(model))


def lend_to_session(
    model: ModelProto,
    options: ort.SessionOptions,
    providers: Sequence[Any] = ("CPUExecutionProvider",),
    *,
    without: Sequence[str] = (),
) -> ort.InferenceSession:
    """A session that reads what lies beside the model where it lies; ``without`` names rewrites of onnxruntime that it
    does not do."""
    aside = [tensor for tensor in model.graph.initializer if is_aside(tensor)]
    # onnxruntime forgets initializers that nobody reads, and then takes no values for them.
    read = set(_read(model.graph)) if aside else set()
    arrays = {tensor.name: array_of(tensor) for tensor in aside if tensor.name in read}
    lent = [ort.OrtValue.ortvalue_from_numpy(array) for array in arrays.values()]
    if lent:
        options.add_external_initializers(list(arrays), lent)
    disabled = {"disabled_optimizers": list(without)} if without else {}
    session = LimitedSession(model.SerializeToString(), options, providers=list(providers), **disabled)
    session.lent = lent  # onnxruntime itself does not keep them
    return session


def _read(graph: GraphProto) -> Iterator[str]:
    """Names that nodes read, those in bodies included, and that the graph takes and gives."""
    yield from (value.name for value in (*graph.input, *graph.output))
    for node in graph.node:
        yield from node.input
        for entry in node.attribute:
            for body in (entry.g, *entry.graphs) if entry.HasField("g") or entry.graphs else ():
                yield from _read(body)


def tensors(graph: GraphProto) -> Iterator[TensorProto]:
    """Every tensor that a graph holds: initializers and values of attributes, those in bodies included."""
    yield from graph.initializer
    for node in graph.node:
        yield from tensors_of(node)


def tensors_of(node: NodeProto) -> Iterator[TensorProto]:
    """Every tensor that a node holds: values of its attributes, and all of its bodies."""
    for entry in node.attribute:
        if entry.HasField("t"):
            yield entry.t
        yield from entry.tensors
        for body in (entry.g, *entry.graphs) if entry.HasField("g") else entry.graphs:
            yield from tensors(body)


def read_aside(model: ModelProto, folder: Path, known: Iterable[TensorProto] = ()) -> ModelProto:
    """The model, whose external data in ``folder`` are set aside; arrays of ``known`` are kept where they are equal.

    What cannot lie beside a model (four bits, float8, weights of bodies) is read into it.
    """
    before = {tensor.name: array_of(tensor) for tensor in known if is_aside(tensor)}
    for tensor in tensors(model.graph):
        if not tensor.doc_string:
            tensor.ClearField("doc_string")  # onnxruntime writes empty ones
    initializers = list(model.graph.initializer)  # while they are held, a tensor is the same object whoever asks
    beside = {id(tensor) for tensor in initializers if tensor.data_type in KINDS}
    for tensor in tensors(model.graph):
        if tensor.data_location == TensorProto.EXTERNAL and id(tensor) not in beside:
            load_external_data_for_tensor(tensor, str(folder))
            tensor.ClearField("external_data")
            tensor.ClearField("data_location")
    for tensor in model.graph.initializer:
        if tensor.data_location != TensorProto.EXTERNAL:
            continue
        entries = {entry.key: entry.value for entry in tensor.external_data}
        dtype = helper.tensor_dtype_to_np_dtype(tensor.data_type)
        values = np.memmap(folder / entries["location"], dtype, "r", int(entries.get("offset", 0)), tuple(tensor.dims))
        same = before.get(tensor.name)
        if same is None or same.dtype != dtype or same.shape != values.shape or not _equal(same, values):
            same = np.array(values)
        tensor.ClearField("external_data")
        _put(tensor, same)
    return model


def _equal(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Bit for bit, NaN included."""
    return np.array_equal(one.reshape(-1).view(np.uint8), other.reshape(-1).view(np.uint8))
