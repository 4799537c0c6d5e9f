"""What mutations of models share: copies, lists of nodes put back, which names are free to change."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto
from onnx.shape_inference import infer_shapes

from ort_vitis_plugin.graph import body_names, captured_names, subgraphs

Random = np.random.Generator
Mutation = Callable[[ModelProto, Random], ModelProto]


def copied(model: ModelProto) -> ModelProto:
    copy = ModelProto()
    copy.CopyFrom(model)
    return copy


def inferred(model: ModelProto) -> ModelProto:
    """A copy with the types and shapes of inner tensors."""
    return infer_shapes(copied(model))


def replace_nodes(graph: GraphProto, nodes: Iterable[NodeProto]) -> None:
    scratch = GraphProto()
    scratch.node.extend(nodes)
    del graph.node[:]
    graph.node.extend(scratch.node)


def replace_constants(graph: GraphProto, tensors: Iterable[TensorProto]) -> None:
    scratch = GraphProto()
    scratch.initializer.extend(tensors)
    del graph.initializer[:]
    graph.initializer.extend(scratch.initializer)


def opset_of(model: ModelProto) -> int:
    """Version of the default operator set."""
    return next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 1)


def free_constants(graph: GraphProto) -> set[str]:
    """Names of initializers that are no inputs and no outputs."""
    ends = {value.name for value in (*graph.input, *graph.output)}
    return {tensor.name for tensor in graph.initializer} - ends


def in_bodies(graph: GraphProto) -> set[str]:
    """Every name that a body reads or defines."""
    found: set[str] = set()
    for node in graph.node:
        found |= captured_names(node) | set(body_names(node))
    return found


def all_names(graph: GraphProto) -> set[str]:
    """Every name of a tensor or node, those in bodies included."""
    found = in_bodies(graph) | {value.name for value in (*graph.input, *graph.output)}
    found |= {tensor.name for tensor in graph.initializer} | {node.name for node in graph.node}
    return found | {name for node in graph.node for name in (*node.input, *node.output)}


def fresh(graph: GraphProto, name: str) -> str:
    """The name, lengthened until nothing begins with it."""
    taken = all_names(graph)
    while any(other.startswith(name) for other in taken):
        name += "_"
    return name


def types(model: ModelProto) -> dict[str, ValueInfoProto]:
    """What is known of every tensor of an inferred model but initializers."""
    graph = model.graph
    return {value.name: value for value in (*graph.value_info, *graph.input, *graph.output)}


def floats(model: ModelProto) -> set[str]:
    """Names of float tensors of an inferred model, constants included."""
    found = {n for n, v in types(model).items() if v.type.tensor_type.elem_type == TensorProto.FLOAT}
    return found | {tensor.name for tensor in model.graph.initializer if tensor.data_type == TensorProto.FLOAT}


def shape_of(value: ValueInfoProto | None) -> list[int] | None:
    """The shape where every dimension is a number."""
    if value is None or not value.type.tensor_type.HasField("shape"):
        return None
    dims = value.type.tensor_type.shape.dim
    return [dim.dim_value for dim in dims] if all(dim.HasField("dim_value") for dim in dims) else None


def named(value: ValueInfoProto, name: str) -> ValueInfoProto:
    copy = ValueInfoProto()
    copy.CopyFrom(value)
    copy.name = name
    return copy


def is_plain(node: NodeProto) -> bool:
    """A node with inputs and without bodies."""
    return not any(subgraphs(node)) and node.op_type != "Constant" and bool(node.input)
