"""The types in which each node computes, where MixedTypes gives parts of a model types of their own."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import UnknownNameError, suggest
from ..graph.op_sets import MOVES
from ..request.mixed_types import OPTION, TypePair
from .name_patterns import OP, TENSOR, Pattern, no_hit, parsed

if TYPE_CHECKING:
    from onnx import NodeProto

    from ..graph import Graph
    from ..request.settings import Settings

FOLLOWS = MOVES | {"Clip", "LeakyRelu", "MaxPool", "PRelu", "Relu"}


class NodeTypes:
    """Answers for the nodes of one graph; a name wins over a pattern, a pattern over an op type."""

    def __init__(self, graph: Graph, settings: Settings) -> None:
        self.base = TypePair(settings.activation, settings.weight)
        self.graph, self.mixed, self.op_types = graph, settings.mixed, settings.op_types
        names = {node.name for node in graph} if self.mixed else set()
        self.patterns = {key: pattern for key in self.mixed if (pattern := parsed(key, names, OPTION)) is not None}

    def of(self, node: NodeProto) -> TypePair:
        """The types of a node's data and weights; what moves or clamps integers goes on with their type."""
        following: NodeProto | None = node
        while following is not None and self.mixed:
            stated = self._stated(following)
            if stated is not None:
                return stated if following is node or stated.activation.is_integer else self.base
            following = self.graph.producer(following.input[0]) if following.op_type in FOLLOWS else None
        return self.base

    def _stated(self, node: NodeProto) -> TypePair | None:
        if node.name in self.mixed:
            return self.mixed[node.name]
        hits = [(pattern.kind == OP, key) for key, pattern in self.patterns.items() if _hits(pattern, node)]
        if node.op_type in self.mixed:
            hits.append((True, node.op_type))
        order = list(self.mixed)
        best = min(hits, key=lambda hit: (hit[0], -order.index(hit[1])), default=None)
        return None if best is None else self.mixed[best[1]]

    def check(self) -> None:
        """Raise UnknownNameError for an entry that speaks of no node of the graph."""
        if not self.mixed:
            return
        names, op_types = ({getattr(node, field) for node in self.graph} for field in ("name", "op_type"))
        for key in self.mixed:
            pattern = self.patterns.get(key)
            if pattern is not None and not any(_hits(pattern, node) for node in self.graph):
                raise no_hit(pattern, OPTION, "node", op_types if pattern.kind == OP else names)
            if pattern is None and key not in names | op_types | self.op_types:
                hint = suggest(key, [*names, *op_types])
                raise UnknownNameError(f"{OPTION}: {key!r} is no node or op type of the model{hint}")


def _hits(pattern: Pattern, node: NodeProto) -> bool:
    if pattern.kind == OP:
        return pattern.hits(node.op_type)
    if pattern.kind == TENSOR:
        return any(pattern.hits(tensor) for tensor in node.output if tensor)
    return pattern.hits(node.name)
