"""The types in which each node computes, where MixedTypes gives parts of a model types of their own."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import UnknownNameError, suggest
from ..graph.op_sets import MOVES
from ..request.mixed_types import OPTION, TypePair
from ..request.renames import OP
from .name_patterns import hits_node, name_nodes, no_node, parsed

if TYPE_CHECKING:
    from onnx import NodeProto

    from ..graph import Graph
    from ..request.ledger import Ledger
    from ..request.settings import Settings

FOLLOWS = MOVES | {"Clip", "LeakyRelu", "MaxPool", "PRelu", "Relu"}


class NodeTypes:
    """Answers for the nodes of one graph; a name wins over a pattern, a pattern over an op type.

    A node that the optimizer made has what is said of those in whose place it stands, by op type of the first of them.
    """

    def __init__(self, graph: Graph, settings: Settings, ledger: Ledger) -> None:
        self.base = TypePair(settings.activation, settings.weight)
        self.graph, self.mixed, self.op_types, self.ledger = graph, settings.mixed, settings.op_types, ledger
        names = {node.name for node in graph} if self.mixed else set()
        self.patterns = {key: pattern for key in self.mixed if (pattern := parsed(key, names, OPTION)) is not None}
        # Of two keys that came to mean one node the one that is listed last holds.
        self.names, self.hit = (
            {name: key for key in keys for name in ledger.renames.nodes_of([key])}
            for keys in ([key for key in self.mixed if key not in self.patterns], self.patterns)
        )

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
        made_of = self.ledger.fused.get(node.name, ())
        by_name = [self.names[part.name] for part in (node, *made_of) if part.name in self.names]
        if by_name:
            return self.mixed[by_name[0]]
        for keys in (
            [key for part in (node, *made_of) for key in self._patterns_of(part)],
            self._op_types_of(node),
            [key for part in made_of[:1] for key in self._op_types_of(part)],
        ):
            if keys:
                return self.mixed[max(keys, key=list(self.mixed).index)]
        return None

    def _patterns_of(self, node: NodeProto) -> list[str]:
        hits = [
            key for key, pattern in self.patterns.items() if pattern.kind != OP and hits_node(pattern, node, self.graph)
        ]
        return [*hits, self.hit[node.name]] if node.name in self.hit else hits

    def _op_types_of(self, node: NodeProto) -> list[str]:
        hits = [key for key, pattern in self.patterns.items() if pattern.kind == OP and pattern.hits(node.op_type)]
        return [*hits, node.op_type] if node.op_type in self.mixed else hits

    def check(self) -> None:
        """Write down what patterns hit, as the caller's graph has it.

        Raises:
            UnknownNameError: an entry speaks of no node of the graph.
        """
        if not self.mixed:
            return
        if self.patterns:
            name_nodes(self.graph)
        names, op_types = ({getattr(node, field) for node in self.graph} for field in ("name", "op_type"))
        for key in self.mixed:
            pattern = self.patterns.get(key)
            if pattern is None:
                if key not in names | op_types | self.op_types:
                    hint = suggest(key, [*names, *op_types])
                    raise UnknownNameError(f"{OPTION}: {key!r} is no node or op type of the model{hint}")
                continue
            hit = [node.name for node in self.graph if hits_node(pattern, node, self.graph)]
            if not hit:
                raise no_node(pattern, OPTION, self.graph, self.graph)
            self.ledger.report.patterns[f"{OPTION} {key}"] = hit
            if pattern.kind != OP:
                self.graph.renames.node(key, *hit)
