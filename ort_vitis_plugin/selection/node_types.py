"""The types in which each node computes, where MixedTypes gives parts of a model types of their own."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ..graph.op_sets import MOVES
from ..request.mixed_types import OPTION, TypePair
from .stated_by_node import StatedByNode

if TYPE_CHECKING:
    from onnx import NodeProto

    from ..graph import Graph
    from ..request.ledger import Ledger
    from ..request.settings import Settings

FOLLOWS = MOVES | {"Clip", "LeakyRelu", "MaxPool", "PRelu", "Relu"}


class NodeTypes:
    """Answers for the nodes of one graph; what MixedTypes leaves out has the call's own types."""

    def __init__(self, graph: Graph, settings: Settings, ledger: Ledger) -> None:
        self.base = TypePair(settings.activation, settings.weight)
        self.graph, self.mixed, self.op_types = graph, settings.mixed, settings.op_types
        self._stated = StatedByNode(graph, settings.mixed, OPTION, ledger)

    def of(self, node: NodeProto) -> TypePair:
        """The types of a node's data and weights; what moves or clamps integers goes on with their type."""
        following: NodeProto | None = node
        while following is not None and self.mixed:
            stated = self._stated.of(following)
            if stated is not None:
                return stated if following is node or stated.activation.is_integer else self.base
            following = self.graph.producer(following.input[0]) if following.op_type in FOLLOWS else None
        return self.base

    def check(self) -> None:
        """Raise UnknownNameError for an entry that speaks of no node of the graph."""
        self._stated.check(self.op_types)
