"""Pieces of patterns: who made a tensor, in whichever order operands come, and whether a pattern is closed."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator

from onnx import NodeProto

from .edit import integers, scalar
from .graph import Graph
from .nodes import DEFAULT_DOMAINS, attribute


def made_by(graph: Graph, tensor: str, *op_types: str) -> NodeProto | None:
    """The producer, if it is one of these."""
    node = graph.producer(tensor)
    return node if node is not None and node.op_type in op_types and node.domain in DEFAULT_DOMAINS else None


def operands(node: NodeProto) -> Iterator[tuple[str, str]]:
    """Both orders of two operands."""
    if len(node.input) == 2:
        yield node.input[0], node.input[1]
        yield node.input[1], node.input[0]


def with_constant(graph: Graph, node: NodeProto) -> tuple[str, float] | None:
    """(tensor, number) of a commutative node, one operand of which is a constant of one element."""
    for tensor, other in operands(node):
        number = scalar(graph, other)
        if number is not None:
            return tensor, number
    return None


def square_of(graph: Graph, tensor: str) -> tuple[str, NodeProto] | None:
    """x where ``tensor`` is x * x or x ** 2, and the node that squares."""
    node = made_by(graph, tensor, "Mul", "Pow")
    if node is None or len(node.input) != 2:
        return None
    squares = node.input[0] == node.input[1] if node.op_type == "Mul" else scalar(graph, node.input[1]) == 2.0
    return (node.input[0], node) if squares else None


def inverse_of(graph: Graph, tensor: str) -> tuple[str, NodeProto] | None:
    """x where ``tensor`` is 1 / x, and the node that divides."""
    node = made_by(graph, tensor, "Reciprocal", "Div")
    if node is None:
        return None
    if node.op_type == "Reciprocal":
        return node.input[0], node
    return (node.input[1], node) if scalar(graph, node.input[0]) == 1.0 else None


def reduced_axes(graph: Graph, node: NodeProto) -> list[int] | None:
    """Axes of a reduction that keeps dimensions, None where they are unknown or not kept."""
    return integers(graph, node, "axes", 1) if attribute(node, "keepdims", 1) == 1 else None


def is_closed(graph: Graph, inner: list[NodeProto], last: NodeProto) -> bool:
    """Whether nobody but the pattern reads what its inner nodes make."""
    allowed = {id(node) for node in inner} | {id(last)}
    return all(
        output not in graph.outputs and all(id(reader) in allowed for reader in graph.consumers(output))
        for node in inner
        for output in node.output
    )
