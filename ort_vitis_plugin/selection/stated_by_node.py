"""What a request states for parts of a model, node by node: a name wins over a pattern, a pattern over an op type."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from ..errors import UnknownNameError, suggest
from ..request.renames import OP
from .name_patterns import hits_node, name_nodes, no_node, parsed

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from onnx import NodeProto

    from ..graph import Graph
    from ..request.ledger import Ledger

T = TypeVar("T")


class StatedByNode(Generic[T]):
    """Answers for the nodes of one graph; of equals the later entry wins. ``option`` is whose entries these are.

    A node that the optimizer made has what is stated of those in whose place it stands, by op type of the first of
    them.
    """

    def __init__(self, graph: Graph, stated: Mapping[str, T], option: str, ledger: Ledger) -> None:
        self.graph, self.stated, self.option, self.ledger = graph, stated, option, ledger
        names = {node.name for node in graph} if stated else set()
        self.patterns = {key: pattern for key in stated if (pattern := parsed(key, names, option)) is not None}
        # Of two keys that came to mean one node the one that is listed last holds.
        self.names, self.hit = (
            {name: key for key in keys for name in ledger.renames.nodes_of([key])}
            for keys in ([key for key in stated if key not in self.patterns], self.patterns)
        )

    def of(self, node: NodeProto) -> T | None:
        """What is stated for a node; None where nothing is."""
        made_of = self.ledger.fused.get(node.name, ())
        by_name = [self.names[part.name] for part in (node, *made_of) if part.name in self.names]
        if by_name:
            return self.stated[by_name[0]]
        for keys in (
            [key for part in (node, *made_of) for key in self._patterns_of(part)],
            self._op_types_of(node),
            [key for part in made_of[:1] for key in self._op_types_of(part)],
        ):
            if keys:
                return self.stated[max(keys, key=list(self.stated).index)]
        return None

    def check(self, op_types: Collection[str] = ()) -> None:
        """Write down what patterns hit, as the caller's graph has it.

        Raises:
            UnknownNameError: an entry speaks of no node of the graph, and of none of these op types.
        """
        if not self.stated:
            return
        if self.patterns:
            name_nodes(self.graph)
        names, kinds = ({getattr(node, field) for node in self.graph} for field in ("name", "op_type"))
        for key in self.stated:
            pattern = self.patterns.get(key)
            if pattern is None:
                if key not in names | kinds | set(op_types):
                    hint = suggest(key, [*names, *kinds])
                    raise UnknownNameError(f"{self.option}: {key!r} is no node or op type of the model{hint}")
                continue
            hit = [node.name for node in self.graph if hits_node(pattern, node, self.graph)]
            if not hit:
                raise no_node(pattern, self.option, self.graph, self.graph)
            self.ledger.report.patterns[f"{self.option} {key}"] = hit
            if pattern.kind != OP:
                self.ledger.renames.node(key, *hit)

    def _patterns_of(self, node: NodeProto) -> list[str]:
        hits = [
            key for key, pattern in self.patterns.items() if pattern.kind != OP and hits_node(pattern, node, self.graph)
        ]
        return [*hits, self.hit[node.name]] if node.name in self.hit else hits

    def _op_types_of(self, node: NodeProto) -> list[str]:
        hits = [key for key, pattern in self.patterns.items() if pattern.kind == OP and pattern.hits(node.op_type)]
        return [*hits, node.op_type] if node.op_type in self.stated else hits
