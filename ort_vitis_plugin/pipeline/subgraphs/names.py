"""What planning needs of bodies: names that no other graph has, constants as initializers, types of inputs."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import numpy as np
from onnx import GraphProto, NodeProto, TensorProto, numpy_helper

from ...graph import DEFAULT_DOMAINS, constant_value, rename_tensors, subgraphs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...graph import Graph
    from ...request.call import Call


def unique_names(call: Call, graph: Graph) -> None:
    """Give bodies what planning needs: names that no other graph has, constants as initializers, types of inputs."""
    if not call.settings.quantizes_bodies:
        return
    types = {name: graph.element_type(name) for name in (*graph.values, *graph.initializers)}
    taken = {*types, *(name for node in graph for name in (node.name, *node.output))}
    for node in graph:
        _rename_inside(graph, node, types, taken)


def _rename_inside(graph: Graph, node: NodeProto, types: Mapping[str, int], taken: set[str]) -> None:
    for body in subgraphs(node):
        _type_inputs(node, body, types)
        _unique_names(graph, body, taken)
        _constants(body)
        inner = element_types(body, types)
        for each in body.node:
            _rename_inside(graph, each, inner, taken)


def _type_inputs(node: NodeProto, body: GraphProto, types: Mapping[str, int]) -> None:
    """An untyped input of a Loop's body has the type of what the Loop passes to it."""
    if node.op_type != "Loop":
        return
    given = [TensorProto.INT64, TensorProto.BOOL, *(types.get(name, 0) for name in node.input[2:])]
    for value, kind in zip(body.input, given, strict=False):
        if not value.type.WhichOneof("value") and kind:
            value.type.tensor_type.elem_type = kind


def _unique_names(graph: Graph, body: GraphProto, taken: set[str]) -> None:
    """Names of tensors and nodes that no graph of the model has twice; equal ones in two branches part here."""

    def own(name: str) -> str:
        name = graph.unique(name) if name in taken else name
        taken.add(name)
        return name

    made = [value.name for value in body.input] + [tensor.name for tensor in body.initializer]
    made += [name for node in body.node for name in node.output if name]
    names = {name: own(name) for name in dict.fromkeys(made)}
    moved = {old: new for old, new in names.items() if old != new}
    rename_tensors(body, moved)
    for old, new in moved.items():
        graph.renames.tensor(old, old, new)
    for node in body.node:
        name = own(node.name or f"{node.op_type}_{next(filter(None, node.output), '')}")
        if name != node.name:
            graph.rename_node(node, name, shared=True)


def _constants(body: GraphProto) -> None:
    """Constant nodes of numbers become initializers; outputs of the body stay."""
    outputs = {value.name for value in body.output}
    kept: list[NodeProto] = []
    for node in body.node:
        is_constant = node.op_type == "Constant" and node.domain in DEFAULT_DOMAINS
        value = constant_value(node) if is_constant and node.output[0] not in outputs else None
        if value is None or value.dtype.kind not in "fiub":
            kept.append(copy.deepcopy(node))
        else:
            body.initializer.append(numpy_helper.from_array(np.asarray(value, order="C"), node.output[0]))
    if len(kept) < len(body.node):
        del body.node[:]
        body.node.extend(kept)


def element_types(graph: GraphProto, outer: Mapping[str, int]) -> dict[str, int]:
    """Element types by name, of the tensors that the graph sees; 0 for constants."""
    types = dict(outer)
    for value in (*graph.value_info, *graph.input, *graph.output):
        if value.type.HasField("tensor_type"):
            types[value.name] = value.type.tensor_type.elem_type
    types.update((tensor.name, 0) for tensor in graph.initializer)
    return types
