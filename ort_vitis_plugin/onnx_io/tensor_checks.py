"""A tensor holds as many bytes as its type and dims say; a model that disagrees with itself is refused when it is read.

Nothing is allocated by what a dimension states: sizes are compared as numbers.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from ..errors import LimitError, ModelError
from .external_weights import is_aside, tensors, tensors_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

MOST_NODES = 1_000_000  # after local functions are put in place of their calls
MOST_NODES_VARIABLE = "ORT_VITIS_MAX_NODES"


def check_tensors(model: ModelProto) -> None:
    """Every initializer, constant and input of a model is of a known type, and holds what its dims say.

    Raises:
        ModelError: one does not, or its values lie in a file that nobody has read.
    """
    for value in model.graph.input:
        if value.type.tensor_type.elem_type not in TensorProto.DataType.values():
            raise ModelError(
                f"the input {value.name!r} is of the type {value.type.tensor_type.elem_type}, which this onnx does not "
                "know"
            )
    bodies = [node for function in model.functions for node in function.node]
    for tensor in (*tensors(model.graph), *(tensor for node in bodies for tensor in tensors_of(node))):
        _check(tensor)


def _check(tensor: TensorProto) -> None:
    what = f"the tensor {tensor.name!r}" if tensor.name else "a constant"
    if tensor.data_location == TensorProto.EXTERNAL:
        if is_aside(tensor):
            return
        places = [entry.value for entry in tensor.external_data if entry.key == "location"]
        where = f"in the file {places[0]!r}, which was not read" if places else "in a file that it does not name"
        raise ModelError(f"the values of {what} lie {where}; give the path of the model, or load it with onnx.load")
    if any(dim < 0 for dim in tensor.dims):
        raise ModelError(f"{what} has the dims {list(tensor.dims)}; none can be negative")
    if tensor.data_type == TensorProto.STRING:
        return
    try:
        dtype = helper.tensor_dtype_to_np_dtype(tensor.data_type)
    except (KeyError, ValueError, TypeError) as error:
        raise ModelError(f"{what} is of the type {tensor.data_type}, which this onnx does not know") from error
    if tensor.HasField("raw_data"):
        count = math.prod(tensor.dims)
        sizes = {count * dtype.itemsize, *(-(-count * bits // 8) for bits in _packed_bits(tensor.data_type))}
        if len(tensor.raw_data) not in sizes:
            raise ModelError(
                f"{what} has the dims {list(tensor.dims)}, which are {max(sizes)} bytes of {dtype}, but holds "
                f"{len(tensor.raw_data)}"
            )
        return
    try:
        numpy_helper.to_array(tensor)
    except (ValueError, TypeError, OverflowError, MemoryError) as error:
        raise ModelError(f"{what} does not hold what its dims {list(tensor.dims)} say: {error}") from error


def _packed_bits(kind: int) -> tuple[int, ...]:
    name = TensorProto.DataType.Name(kind)
    return (4,) if "INT4" in name or name.endswith("E2M1") else (2,) if "INT2" in name else ()


def check_utf8(model: ModelProto) -> None:
    """Every name of a model is text, and so is what it says of itself; protobuf hands out bytes where it is not UTF-8.

    Raises:
        ModelError: one is not.
    """
    for name in (*_names(model.graph), *(name for each in model.functions for name in _function_names(each))):
        if not isinstance(name, str):
            raise ModelError(f"the model has the name {name!r}, which is not UTF-8 text")
    for message in (model, model.graph, *model.opset_import, *model.metadata_props):
        for field, value in message.ListFields():
            if isinstance(value, bytes) and field.type == field.TYPE_STRING:
                raise ModelError(f"the model's {field.name} is {value!r}, which is not UTF-8 text")


def _names(graph: GraphProto) -> Iterator[object]:
    for tensor in graph.initializer:
        yield tensor.name
        for entry in tensor.external_data:
            yield from (entry.key, entry.value)
    for value in (*graph.input, *graph.output, *graph.value_info):
        yield value.name
        if value.type.HasField("tensor_type"):
            yield from (dim.dim_param for dim in value.type.tensor_type.shape.dim if dim.HasField("dim_param"))
    yield from _names_of_nodes(graph.node)


def _function_names(function: FunctionProto) -> Iterator[object]:
    yield from (function.name, function.domain, *function.input, *function.output, *function.attribute)
    yield from _names_of_nodes(function.node)


def _names_of_nodes(nodes: Iterable[NodeProto]) -> Iterator[object]:
    for node in nodes:
        yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
        for entry in node.attribute:
            yield from (entry.name, entry.ref_attr_name)
            for body in (*((entry.g,) if entry.HasField("g") else ()), *entry.graphs):
                yield from _names(body)


def check_expansion(model: ModelProto) -> None:
    """Local functions that call each other may grow without bounds where they are put in place of their calls.

    Raises:
        LimitError: they give more nodes than ORT_VITIS_MAX_NODES (a million by default).
        ModelError: a function calls itself.
    """
    if not model.functions:
        return
    limit = most_nodes()
    functions = {(function.domain, function.name): function.node for function in model.functions}
    sizes: dict[tuple[str, str], int] = {}
    nodes = _count(model.graph.node, functions, sizes, ())
    if nodes > limit:
        raise LimitError(
            f"the local functions of the model expand to {nodes:.3g} nodes, more than {limit}; "
            f"the environment variable {MOST_NODES_VARIABLE} raises the limit"
        )


def most_nodes() -> int:
    """The limit in force.

    Raises:
        LimitError: the environment variable holds no number.
    """
    given = os.environ.get(MOST_NODES_VARIABLE, str(MOST_NODES))
    try:
        return int(given)
    except ValueError as error:
        raise LimitError(f"{MOST_NODES_VARIABLE}={given!r} is no whole number") from error


def _count(
    nodes: Iterable[NodeProto],
    functions: Mapping[tuple[str, str], Iterable[NodeProto]],
    sizes: dict[tuple[str, str], int],
    path: tuple[tuple[str, str], ...],
) -> int:
    total = 0
    for node in nodes:
        key = (node.domain, node.op_type)
        if key in path:
            raise ModelError(f"the local function {node.op_type} calls itself")
        if key in functions:
            if key not in sizes:
                sizes[key] = _count(functions[key], functions, sizes, (*path, key))
            total += sizes[key]
        else:
            total += 1
        for entry in node.attribute:
            for body in (*((entry.g,) if entry.HasField("g") else ()), *entry.graphs):
                total += _count(body.node, functions, sizes, path)
    return total
