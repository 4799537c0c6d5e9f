"""A value that gates itself, y = x f(x), is one operation, whatever nodes exporters take it apart into.

Gelu    x / sqrt(2) -> Erf -> + 1 -> * x -> / 2   (Hendrycks and Gimpel 2016, arXiv 1606.08415)
Swish   x -> Sigmoid -> * x   ("a self-gated activation function", Ramachandran et al. 2017, arXiv 1710.05941)
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ort_vitis_plugin.api import DEFAULT_DOMAINS, scalar

if TYPE_CHECKING:
    from onnx import NodeProto

    from ort_vitis_plugin.api import Graph

POINTWISE = frozenset(
    {
        *("Add", "Clip", "Div", "Erf", "Exp", "HardSigmoid", "HardSwish", "Log", "Mul", "Neg", "Pow", "Reciprocal"),
        *("Relu", "Sigmoid", "Softplus", "Sub", "Tanh"),
    }
)
MOST_NODES = 16
"""Gelu by tanh has 9."""


class SelfGate(NamedTuple):
    """What is computed of ``source``, the tensors on the way that nothing else reads, and the ids of its nodes."""

    source: str
    inner: frozenset[str]
    nodes: frozenset[int]


def self_gates(graph: Graph) -> list[SelfGate]:
    """Every x f(x) of a graph, f being pointwise, whose steps nobody else reads."""
    places = {id(node): place for place, node in enumerate(graph.sorted())}
    found = (_gate(graph, node, places) for node in graph.of_type("Mul"))
    return [gate for gate in found if gate is not None]


def _values(graph: Graph, node: NodeProto) -> set[str] | None:
    """The tensors that a pointwise node computes with; None for other nodes, and for constants of more elements."""
    if node.op_type not in POINTWISE or node.domain not in DEFAULT_DOMAINS:
        return None
    names = [name for name in node.input if name]
    if any(graph.is_constant(name) and scalar(graph, name) is None for name in names):
        return None
    return {name for name in names if not graph.is_constant(name)}


def _gate(graph: Graph, end: NodeProto, places: dict[int, int]) -> SelfGate | None:
    ends = _values(graph, end)
    if ends is None or len(ends) < 2:
        return None
    inner, nodes = set[str](), {id(end)}
    while len(ends) > 1:
        made = [(places[id(node)], name, node) for name in ends if (node := graph.producer(name)) is not None]
        if not made or len(nodes) == MOST_NODES:
            return None
        _, name, node = max(made, key=lambda each: each[:2])
        values = _values(graph, node)
        if values is None:
            return None
        ends = ends - {name} | values
        inner.add(name)
        nodes.add(id(node))
    factor = graph.sole_consumer(end.output[0])
    if factor is not None and scales(graph, factor, end.output[0]):
        inner.add(end.output[0])
        nodes.add(id(factor))
    (source,) = ends
    closed = all(
        name not in graph.outputs and all(id(reader) in nodes for reader in graph.consumers(name)) for name in inner
    )
    return SelfGate(source, frozenset(inner), frozenset(nodes)) if closed else None


def scales(graph: Graph, node: NodeProto, tensor: str) -> bool:
    """Whether a node multiplies a tensor with one number, or divides it by one."""
    if node.domain not in DEFAULT_DOMAINS or node.op_type not in ("Mul", "Div") or list(node.input).count(tensor) != 1:
        return False
    at = list(node.input).index(tensor)
    return (node.op_type == "Mul" or at == 0) and scalar(graph, node.input[1 - at]) is not None
