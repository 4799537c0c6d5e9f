"""What a request states for parts of a model, node by node: a name wins over a pattern, a pattern over an op type."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from ..errors import UnknownNameError, suggest
from ..request.renames import OP
from .name_patterns import TENSOR, Pattern, no_hit, parsed

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from onnx import NodeProto

    from ..graph import Graph

T = TypeVar("T")


class StatedByNode(Generic[T]):
    """Answers for the nodes of one graph; of equals the later entry wins. ``option`` is whose entries these are."""

    def __init__(self, graph: Graph, stated: Mapping[str, T], option: str) -> None:
        self.graph, self.stated, self.option = graph, stated, option
        names = {node.name for node in graph} if stated else set()
        self.patterns = {key: pattern for key in stated if (pattern := parsed(key, names, option)) is not None}

    def of(self, node: NodeProto) -> T | None:
        """What is stated for a node; None where nothing is."""
        if node.name in self.stated:
            return self.stated[node.name]
        hits = [(pattern.kind == OP, key) for key, pattern in self.patterns.items() if _hits(pattern, node)]
        if node.op_type in self.stated:
            hits.append((True, node.op_type))
        order = list(self.stated)
        best = min(hits, key=lambda hit: (hit[0], -order.index(hit[1])), default=None)
        return None if best is None else self.stated[best[1]]

    def check(self, op_types: Collection[str] = ()) -> None:
        """Raise UnknownNameError for an entry that speaks of no node of the graph, and of none of these op types."""
        if not self.stated:
            return
        names, kinds = ({getattr(node, field) for node in self.graph} for field in ("name", "op_type"))
        for key in self.stated:
            pattern = self.patterns.get(key)
            if pattern is not None and not any(_hits(pattern, node) for node in self.graph):
                raise no_hit(pattern, self.option, "node", kinds if pattern.kind == OP else names)
            if pattern is None and key not in names | kinds | set(op_types):
                hint = suggest(key, [*names, *kinds])
                raise UnknownNameError(f"{self.option}: {key!r} is no node or op type of the model{hint}")


def _hits(pattern: Pattern, node: NodeProto) -> bool:
    if pattern.kind == OP:
        return pattern.hits(node.op_type)
    if pattern.kind == TENSOR:
        return any(pattern.hits(tensor) for tensor in node.output if tensor)
    return pattern.hits(node.name)
