"""Which nodes a request selects: names are checked, and input_nodes/output_nodes act by reachability."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import onnx.defs

from ..errors import UnknownNameError, suggest
from ..graph import inner_nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from onnx import NodeProto

    from ..graph import Graph
    from ..request.call import Call


def select(graph: Graph, call: Call, earlier: Iterable[str] = ()) -> None:
    """Check every name of the request against the graph; record what input_nodes and output_nodes leave float.

    ``earlier`` are the nodes before normalization: where it folded or removed one, nothing is left to select.

    Raises:
        UnknownNameError: the model has no such node or op type.
    """
    by_name = {node.name: node for node in graph}
    request, options = call.request, call.call
    known = (
        by_name.keys()
        | set(earlier)
        | ({node.name for node in inner_nodes(graph)} if call.settings.quantizes_bodies else set())
    )
    for argument, names in (
        ("nodes_to_quantize", request.nodes_to_quantize),
        ("nodes_to_exclude", request.nodes_to_exclude),
    ):
        for name in names:
            if name not in known:
                raise UnknownNameError(f"{argument}: the model has no node {name!r}{suggest(name, known)}")
    _check_op_types(graph, call)
    starts = [node for name in options.input_nodes or () for node in _nodes(graph, by_name, name, "input_nodes")]
    ends = [node for name in options.output_nodes or () for node in _nodes(graph, by_name, name, "output_nodes")]
    if starts:
        behind = _closure(starts, lambda node: _readers(graph, node))
        before = _closure(starts, lambda node: _producers(graph, node)) - behind
        call.ledger.excluded.update(dict.fromkeys(_names(before), "before input_nodes"))
    if ends:
        before = _closure(ends, lambda node: _producers(graph, node))
        behind = _closure(ends, lambda node: _readers(graph, node)) - before
        call.ledger.excluded.update(dict.fromkeys(_names(behind), "after output_nodes"))


@cache
def _names_of_onnx() -> frozenset[str]:
    """The op types of all domains that onnx knows, as of the first call."""
    return frozenset(schema.name for schema in onnx.defs.get_all_schemas())


def _check_op_types(graph: Graph, call: Call) -> None:
    known = {node.op_type for node in graph} | _names_of_onnx()
    if not known.issuperset(call.request.op_types):
        _names_of_onnx.cache_clear()  # A schema may have been registered since.
        known |= _names_of_onnx()
    for op_type in call.request.op_types:
        if op_type not in known:
            raise UnknownNameError(f"op_types_to_quantize: there is no op type {op_type!r}{suggest(op_type, known)}")


def _nodes(graph: Graph, by_name: dict[str, NodeProto], name: str, argument: str) -> Iterable[NodeProto]:
    """The node of that name; a graph input stands for its readers, a graph output for its producer."""
    if name in by_name:
        return [by_name[name]]
    producer = graph.producer(name)
    if producer is not None:
        return [producer] if argument == "output_nodes" else graph.consumers(name) or [producer]
    if name in graph.inputs:
        return graph.consumers(name)
    known = [*by_name, *graph.inputs, *graph.outputs]
    raise UnknownNameError(f"{argument}: the model has no node or tensor {name!r}{suggest(name, known)}")


def _readers(graph: Graph, node: NodeProto) -> Iterable[NodeProto]:
    return [reader for tensor in node.output if tensor for reader in graph.consumers(tensor)]


def _producers(graph: Graph, node: NodeProto) -> Iterable[NodeProto]:
    return [producer for tensor in graph.reads(node) if (producer := graph.producer(tensor)) is not None]


class _Nodes(dict[int, "NodeProto"]):
    """A set of nodes (messages cannot be hashed)."""

    def __sub__(self, other: _Nodes) -> _Nodes:
        return _Nodes({key: node for key, node in self.items() if key not in other})


def _names(nodes: _Nodes) -> list[str]:
    return [node.name for node in nodes.values()]


def _closure(start: list[NodeProto], step: Callable[[NodeProto], Iterable[NodeProto]]) -> _Nodes:
    """The nodes reached from ``start``, itself included."""
    reached = _Nodes({id(node): node for node in start})
    pending = list(start)
    while pending:
        for node in step(pending.pop()):
            if id(node) not in reached:
                reached[id(node)] = node
                pending.append(node)
    return reached
