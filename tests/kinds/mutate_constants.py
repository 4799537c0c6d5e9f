"""Mutations: the same constants in other places and encodings."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, SparseTensorProto, TensorProto, helper, numpy_helper

from .rewriting import Mutation, Random, copied, free_constants, opset_of, replace_constants, replace_nodes


def _chosen(model: ModelProto, random: Random, share: float) -> dict[str, TensorProto]:
    free = free_constants(model.graph)
    return {t.name: t for t in model.graph.initializer if t.name in free and random.random() < share}


def _without(model: ModelProto, gone: dict[str, Any]) -> None:
    replace_constants(model.graph, [t for t in model.graph.initializer if t.name not in gone])


def make_constants(model: ModelProto, random: Random) -> ModelProto:
    """Some initializers become Constant nodes."""
    model = copied(model)
    chosen = _chosen(model, random, 0.7)
    nodes = [helper.make_node("Constant", [], [name], value=tensor) for name, tensor in chosen.items()]
    _without(model, chosen)
    replace_nodes(model.graph, [*nodes, *model.graph.node])
    return model


def spell_constants(model: ModelProto, random: Random) -> ModelProto:
    """Scalars and vectors are Constant nodes in one of the other spellings: value_float, value_ints..."""
    model = copied(model)
    if opset_of(model) < 12:
        return model
    nodes = []
    for name, tensor in _chosen(model, random, 0.8).items():
        kind = {TensorProto.FLOAT: "float", TensorProto.INT64: "int"}.get(tensor.data_type)
        array = numpy_helper.to_array(tensor)
        if kind is None or array.ndim > 1 or not array.size:
            continue
        attributes = {f"value_{kind}" if array.ndim == 0 else f"value_{kind}s": array.tolist()}
        nodes.append(helper.make_node("Constant", [], [name], **attributes))
    _without(model, {node.output[0]: node for node in nodes})
    replace_nodes(model.graph, [*nodes, *model.graph.node])
    return model


def _sparse(array: NDArray[Any], name: str) -> SparseTensorProto:
    places = np.flatnonzero(array)
    values = numpy_helper.from_array(array.reshape(-1)[places], name)
    return helper.make_sparse_tensor(
        values, numpy_helper.from_array(places.astype(np.int64), f"{name}_at"), array.shape
    )


def make_sparse(model: ModelProto, random: Random) -> ModelProto:
    """Some float constants are sparse: initializers, or values of Constant nodes."""
    model = copied(model)
    if opset_of(model) < 11:
        return model
    gone: dict[str, Any] = {}
    nodes = []
    for name, tensor in _chosen(model, random, 0.5).items():
        array = numpy_helper.to_array(tensor) if tensor.data_type == TensorProto.FLOAT else np.zeros(0)
        if not array.ndim or not np.count_nonzero(array):
            continue
        gone[name] = array
        if random.integers(2):
            nodes.append(helper.make_node("Constant", [], [name], sparse_value=_sparse(array, f"{name}_values")))
        else:
            model.graph.sparse_initializer.append(_sparse(array, name))
    _without(model, gone)
    replace_nodes(model.graph, [*nodes, *model.graph.node])
    return model


def encode(model: ModelProto, random: Random) -> ModelProto:
    """Values stand in the typed field in place of raw bytes, or the other way round."""
    model = copied(model)
    tensors = []
    for tensor in model.graph.initializer:
        array = numpy_helper.to_array(tensor)
        typed = random.integers(2) and array.dtype in (np.float32, np.float64, np.int32, np.int64, np.bool_, np.uint8)
        if typed:
            tensors.append(helper.make_tensor(tensor.name, tensor.data_type, array.shape, array.reshape(-1).tolist()))
        elif tensor.data_type != TensorProto.STRING:
            tensors.append(numpy_helper.from_array(array, tensor.name))
        else:
            tensors.append(tensor)
    replace_constants(model.graph, tensors)
    return model


def duplicate_constants(model: ModelProto, random: Random) -> ModelProto:
    """Every reader has a copy of its own."""
    model = copied(model)
    free = free_constants(model.graph)
    by_name = {tensor.name: tensor for tensor in model.graph.initializer}
    for at, node in enumerate(model.graph.node):
        for number, name in enumerate(node.input):
            if name in free and random.random() < 0.5:
                tensor = TensorProto()
                tensor.CopyFrom(by_name[name])
                tensor.name = node.input[number] = f"copy_{at}_{number}"
                model.graph.initializer.append(tensor)
    return model


def share_constants(model: ModelProto, random: Random) -> ModelProto:
    """Equal constants are one."""
    model = copied(model)
    free = free_constants(model.graph)
    first: dict[Any, str] = {}
    new: dict[str, str] = {}
    for tensor in model.graph.initializer:
        if tensor.name in free:
            key = (tensor.data_type, tuple(tensor.dims), numpy_helper.to_array(tensor).tobytes())
            new[tensor.name] = first.setdefault(key, tensor.name)
    for node in model.graph.node:
        node.input[:] = [new.get(name, name) for name in node.input]
    return model


def list_as_inputs(model: ModelProto, random: Random) -> ModelProto:
    """Initializers are listed as inputs, as up to IR 3."""
    model = copied(model)
    for tensor in _chosen(model, random, (0.5, 1.0)[random.integers(2)]).values():
        model.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    complete = not free_constants(model.graph) and not model.graph.sparse_initializer
    if complete and not model.functions and all(entry.version < 15 for entry in model.opset_import):
        model.ir_version = 3
    return model


def shuffle_constants(model: ModelProto, random: Random) -> ModelProto:
    """Initializers come in another order, and one that nobody reads among them."""
    model = copied(model)
    graph = model.graph
    graph.initializer.append(numpy_helper.from_array(np.float32([np.inf, np.nan, 1e30]), "nobody_reads_it"))
    replace_constants(graph, [graph.initializer[int(at)] for at in random.permutation(len(graph.initializer))])
    return model


def _computed(name: str, tensor: TensorProto, random: Random, opset: int) -> Iterator[NodeProto | TensorProto]:
    array = numpy_helper.to_array(tensor)
    way = int(random.integers(5))
    source = f"{name}_source"
    if way == 0:
        order = [int(axis) for axis in random.permutation(array.ndim)]
        yield numpy_helper.from_array(np.ascontiguousarray(array.transpose(order)), source)
        yield helper.make_node("Transpose", [source], [name], perm=[order.index(axis) for axis in range(array.ndim)])
    elif way == 1:
        yield numpy_helper.from_array(array.reshape(-1), source)
        yield numpy_helper.from_array(np.array(array.shape, np.int64), f"{name}_shape")
        yield helper.make_node("Reshape", [source, f"{name}_shape"], [name])
    elif way == 2:
        yield numpy_helper.from_array(array.astype(np.float64), source)
        yield helper.make_node("Cast", [source], [name], to=TensorProto.FLOAT)
    elif way == 3 and array.shape[0] > 1:
        yield numpy_helper.from_array(array[:1], source)
        yield numpy_helper.from_array(array[1:], f"{name}_rest")
        yield helper.make_node("Concat", [source, f"{name}_rest"], [name], axis=0)
    else:
        yield numpy_helper.from_array(array / np.float32(2), source)
        yield numpy_helper.from_array(np.float32(2), f"{name}_two")
        yield helper.make_node("Mul", [source, f"{name}_two"], [name])


def compute_constants(model: ModelProto, random: Random) -> ModelProto:
    """Some weights come out of a Transpose, Reshape, Cast, Concat or Mul of other constants."""
    model = copied(model)
    opset = opset_of(model)
    chosen = {
        name: tensor
        for name, tensor in _chosen(model, random, 0.5).items()
        if tensor.data_type == TensorProto.FLOAT and tensor.dims and opset >= 7 and all(tensor.dims)
    }
    _without(model, chosen)
    nodes = []
    for name, tensor in chosen.items():
        for part in _computed(name, tensor, random, opset):
            if isinstance(part, TensorProto):
                model.graph.initializer.append(part)
            else:
                nodes.append(part)
    replace_nodes(model.graph, [*nodes, *model.graph.node])
    return model


CONSTANTS: dict[str, Mutation] = {
    "constants": make_constants,
    "spelled constants": spell_constants,
    "sparse": make_sparse,
    "encode": encode,
    "duplicate": duplicate_constants,
    "share": share_constants,
    "inputs": list_as_inputs,
    "shuffle": shuffle_constants,
    "computed": compute_constants,
}
