"""The bodies of If, Loop and Scan: what they define, and what they read of the graph around them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto

_GRAPH, _GRAPHS = AttributeProto.GRAPH, AttributeProto.GRAPHS


def subgraphs(node: NodeProto) -> list[GraphProto]:
    """The bodies of an If, Loop or Scan."""
    bodies = []
    for attribute in node.attribute:
        kind = attribute.type
        if kind == _GRAPH:
            bodies.append(attribute.g)
        elif kind == _GRAPHS:
            bodies.extend(attribute.graphs)
    return bodies


def walk(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    """These nodes and all inside their bodies."""
    for node in nodes:
        yield node
        for body in subgraphs(node):
            yield from walk(body.node)


def inner_nodes(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    """All nodes inside the bodies of these nodes."""
    for node in nodes:
        for body in subgraphs(node):
            yield from walk(body.node)


def captured_names(node: NodeProto) -> set[str]:
    """Names of outer tensors that the bodies of ``node`` read."""
    names: set[str] = set()
    for body in subgraphs(node):
        own = {value.name for value in body.input} | {tensor.name for tensor in body.initializer}
        own |= {name for inner in body.node for name in inner.output}
        for inner in body.node:
            names |= ({name for name in inner.input if name} | captured_names(inner)) - own
        names |= {value.name for value in body.output} - own
    return names


def body_names(node: NodeProto) -> Iterator[str]:
    """Every name that the bodies of ``node`` define: what is made around them must be called otherwise."""
    for body in subgraphs(node):
        yield from (value.name for value in body.input)
        yield from (tensor.name for tensor in body.initializer)
        for inner in body.node:
            yield inner.name
            yield from inner.output
            yield from body_names(inner)


def rename_tensors(body: GraphProto, names: Mapping[str, str]) -> None:
    """Rename what a body defines and captures; in the bodies within it, what they capture."""
    for value in (*body.input, *body.output, *body.value_info, *body.initializer):
        value.name = names.get(value.name, value.name)
    for node in body.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
        rename_captured(node, names)


def rename_captured(node: NodeProto, names: Mapping[str, str]) -> None:
    """Rename outer tensors in the bodies of ``node``, but for those whose names a body gives to its own."""
    for body in subgraphs(node):
        own = {value.name for value in (*body.input, *body.initializer)}
        own |= {name for inner in body.node for name in inner.output}
        rename_tensors(body, {old: new for old, new in names.items() if old not in own})


def all_nodes(model: ModelProto) -> Iterator[NodeProto]:
    """The nodes of its graph, of all bodies and of all local functions."""
    yield from walk(model.graph.node)
    for function in model.functions:
        yield from walk(function.node)
