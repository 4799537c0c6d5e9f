"""A float that decides, counts, indexes or places is no data: half a code off, and another branch is taken.

    Cast(x -> integer or bool),  x < y,  x == y,  Sign(x),  NonZero(x)        decide
    Range(x, y, z),  Resize(data, roi, scales)                                count and place
    Floor(x),  Round(x),  Mod(x, y),  x - Floor(x)                            place, between whole numbers

What such a node reads stays float, back through whatever computes it, as long as nothing else is lost: a node all of
whose results decide stays float with them; a product of matrices or a convolution is computed in codes as before, and
only its result gets none. What others read too is rounded for them alone, where it is float to begin with.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ort_vitis_plugin.api import (
    DEFAULT_DOMAINS,
    FLOAT_OR_UNKNOWN,
    PRODUCTS,
    SIZE_OPS,
    Graph,
    Stage,
    StaysFloat,
    attribute,
    leave_float,
    subgraphs,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from onnx import NodeProto

    from ort_vitis_plugin.api import Context

EVERY_INPUT = frozenset({"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Range", "Mod"})
TO_WHOLE = frozenset({"Floor", "Ceil", "Round"})
FIRST_INPUT = TO_WHOLE | {"Sign", "NonZero", "IsNaN", "IsInf", "NonMaxSuppression", "Bernoulli", "Multinomial"}
# Their work is worth codes, whatever their result is for.
WORTH_CODES = PRODUCTS | {"Einsum", "LSTM", "GRU", "RNN", "Attention"}
REASON = "{op_type} {node} decides by it, so it is no data for codes"


def deciding_inputs(graph: Graph, node: NodeProto) -> Iterator[str]:
    """The inputs of a node of which a small error may change everything."""
    if node.domain not in DEFAULT_DOMAINS:
        return
    if node.op_type in EVERY_INPUT or _is_fraction(graph, node):
        yield from node.input
    elif node.op_type in FIRST_INPUT or (node.op_type == "Cast" and attribute(node, "to") not in FLOAT_OR_UNKNOWN):
        yield from node.input[:1]
    elif node.op_type in ("Resize", "Upsample"):
        yield from node.input[1:]


def _is_fraction(graph: Graph, node: NodeProto) -> bool:
    """Whether a node subtracts the whole part of a tensor from it."""
    whole = graph.producer(node.input[1]) if node.op_type == "Sub" else None
    while whole is not None and whole.op_type == "Cast":  # to an integer, and back
        if whole.input[0] == node.input[0]:
            return True
        whole = graph.producer(whole.input[0])
    return whole is not None and whole.op_type in TO_WHOLE and whole.input[0] == node.input[0]


def traced(graph: Graph, ends: Callable[[NodeProto], Iterable[str]], stops: frozenset[str] = WORTH_CODES) -> Traced:
    """Of which nodes and tensors nothing is made but what ``ends`` gives: for each node, inputs that end the search.

    Back through nodes all of whose results lead there; a node of ``stops`` is not among them, its result is.
    """
    found = Traced({}, {})
    given = {id(node): set(ends(node)) for node in graph}
    if not any(given.values()):
        return found
    leads: dict[int, set[str]] = {}  # by reader: the inputs that lead to an end
    for node in reversed(graph.sorted()):
        for tensor in node.output:
            found.add(graph, tensor, leads)
        read = [tensor for tensor in node.output if tensor and (tensor in graph.outputs or graph.consumers(tensor))]
        if read and all(tensor in found.tensors for tensor in read) and _passes(graph, node, stops):
            found.nodes[node.name] = found.tensors[read[0]]
            leads[id(node)] = set(node.input)
        else:
            leads[id(node)] = given[id(node)]
    for tensor in (*graph.inputs, *graph.initializers):
        found.add(graph, tensor, leads)
    return found


@dataclass(frozen=True)
class Traced:
    """Nodes and tensors by name, each with the node at the end that it leads to."""

    nodes: dict[str, NodeProto]
    tensors: dict[str, NodeProto]

    def add(self, graph: Graph, tensor: str, leads: Mapping[int, set[str]]) -> None:
        """Take a tensor in if every reader has it among the inputs that lead to an end."""
        readers = [reader for reader in graph.consumers(tensor) if reader.op_type not in SIZE_OPS] if tensor else []
        if readers and tensor not in graph.outputs and all(tensor in leads[id(reader)] for reader in readers):
            self.tensors[tensor] = self.nodes.get(readers[0].name, readers[0])


def _passes(graph: Graph, node: NodeProto, stops: frozenset[str]) -> bool:
    works = node.op_type in stops and not _is_outer(graph, node)
    return not works and node.domain in DEFAULT_DOMAINS and not subgraphs(node)


def _is_outer(graph: Graph, node: NodeProto) -> bool:
    """Whether a product of matrices adds nothing up: a column times a row, as positions times frequencies are."""
    if node.op_type == "Einsum":
        terms, arrow, made = attribute(node, "equation", b"").decode().replace(" ", "").partition("->")
        return bool(arrow) and set(terms) - {","} <= set(made)
    if node.op_type != "MatMul":
        return False
    left, right = (graph.shape(name) or () for name in node.input)
    return (bool(left) and left[-1] == 1) or (len(right) > 1 and right[-2] == 1)


@leave_float("FloatDecisions", stage=Stage.PREPARE, before=("FoldBatchNorm",))
def float_decisions(graph: Graph, context: Context) -> StaysFloat:
    """Leave float what decides, counts or places: what leads to comparisons, Cast to integers, Floor, Range, sizes."""

    def decides(node: NodeProto) -> Iterator[str]:
        return deciding_inputs(graph, node)

    found = traced(graph, decides)
    reasons = {
        name: REASON.format(op_type=end.op_type, node=end.name)
        for name, end in (*found.nodes.items(), *found.tensors.items())
    }
    return StaysFloat(
        {name: reasons[name] for name in found.nodes},
        {name: reasons[name] for name in found.tensors if graph.element_type(name) in FLOAT_OR_UNKNOWN},
        {node.name for node in graph if node.name in found.nodes or any(decides(node))},
    )
