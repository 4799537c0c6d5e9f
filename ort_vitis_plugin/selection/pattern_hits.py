"""Patterns of a request become the names that they hit: of nodes before any is rewritten, of tensors once all are.

Until then a pattern for tensors keeps none from being folded: it speaks of those that are left.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import OptionError
from ..graph import inner_nodes
from ..graph.element_types import FLOAT_OR_UNKNOWN
from ..request.renames import OP, OVERRIDES, SELECTIONS
from .name_patterns import GLOB, Pattern, hits_node, name_nodes, no_hit, no_node, parsed

if TYPE_CHECKING:
    from onnx import NodeProto

    from ..graph import Graph
    from ..request.call import Call


def resolve_nodes(graph: Graph, call: Call) -> None:
    """Let patterns in nodes_to_quantize and nodes_to_exclude stand for the names of the nodes that they hit.

    Raises:
        UnknownNameError: a pattern hits nothing.
        OptionError: patterns leave nothing to quantize.
    """
    inner = list(inner_nodes(graph)) if call.settings.quantizes_bodies else []
    existing = {node.name for node in (*graph, *inner) if node.name}
    given = {argument: tuple(getattr(call.request, argument)) for argument in SELECTIONS}
    # Each once, by the first argument that lists it: it means the same nodes in both.
    texts = {text: argument for argument in reversed(SELECTIONS) for text in given[argument] if text}
    if any("" in names for names in given.values()):  # onnxruntime compares names, so '' is every node without one
        unnamed = [node for node in graph if not node.name]
        name_nodes(graph)
        graph.renames.node("", *(node.name for node in unnamed))
    found = {text: parsed(text, existing, argument) for text, argument in texts.items()}
    patterns = {text: pattern for text, pattern in found.items() if pattern is not None}
    if patterns:
        name_nodes(graph)
        any_selected = any(node.op_type in call.op_types for node in (*graph, *inner))
        nodes = [*graph, *(node for node in inner if node.name)]
        for text, pattern in patterns.items():
            names = _resolve(pattern, texts[text], nodes, graph, call)
            call.report.patterns |= {f"{key} {text}": names for key, listed in given.items() if text in listed}
        if any_selected and all(call.refusal(node) is not None for node in (*graph, *inner)):
            said = ", ".join(call.report.patterns)
            raise OptionError(f"nothing is left to quantize: {said} leaves every node float; narrow the pattern")
    _check_tensors(graph, call)


def _resolve(pattern: Pattern, argument: str, nodes: list[NodeProto], graph: Graph, call: Call) -> list[str]:
    """What a pattern hits; the request means these nodes from now on."""
    hit = [node for node in nodes if hits_node(pattern, node, graph)]
    if not hit:
        raise no_node(pattern, argument, nodes, graph)
    names = _own_names(hit, nodes, graph, call)
    # What computes shapes is float anyway; named in the request it would have to be kept from folding.
    graph.renames.node(pattern.text, *([name for name, node in names.items() if _computes(node, graph)] or names))
    return list(names)


def _own_names(hit: list[NodeProto], nodes: Iterable[NodeProto], graph: Graph, call: Call) -> dict[str, NodeProto]:
    """The nodes by names that no other node has: one with the name of a node that is not hit gets its own."""
    ours = {id(node) for node in hit}
    others = {node.name for node in nodes if id(node) not in ours}
    named = {}
    for node in hit:
        if node.name in others:
            graph.rename_node(node, graph.unique(node.name), shared=True)
        named[node.name] = node
    return named


def _computes(node: NodeProto, graph: Graph) -> bool:
    """Whether it writes floats, as far as is known."""
    return any(graph.element_type(tensor) in FLOAT_OR_UNKNOWN for tensor in node.output if tensor)


def resolve_tensors(graph: Graph, call: Call) -> None:
    """Let patterns among the keys of TensorQuantOverrides stand for the tensors that they hit.

    A pattern hits tensors that are computed or fed; constants too where it begins with ``tensor:`` or ``re:``. A name
    goes before a pattern, a pattern before the option ActivationTypes, which need not hit anything.

    Raises:
        UnknownNameError: a pattern hits nothing that is left.
        OptionError: two patterns say different things of one tensor.
    """
    overrides: Mapping[str, Any] = call.overrides
    said: dict[str, str] = {}
    by_op_type = _by_op_type(call)
    for text, pattern in sorted(_tensor_patterns(graph, call).items(), key=lambda item: item[0] in by_op_type):
        hit = [name for name in _tensors(pattern, graph) if text not in by_op_type or name not in said]
        if not hit and text not in by_op_type:
            raise no_hit(pattern, OVERRIDES, "tensor that is left when the model is prepared", _all_tensors(graph))
        if hit:
            call.report.patterns[f"{OVERRIDES} {text}"] = hit
        for name in hit:
            if name not in overrides and overrides[said.setdefault(name, text)] != overrides[text]:
                raise OptionError(
                    f"{OVERRIDES}: {said[name]!r} and {text!r} say different things of {name}; name it itself"
                )
        graph.renames.tensor(text, *(name for name in hit if name not in overrides))


def _by_op_type(call: Call) -> frozenset[str]:
    """The keys of TensorQuantOverrides that the option ActivationTypes stands for."""
    return frozenset(f"{OP}{op_type}" for op_type in call.call.activation_types)


def _tensor_patterns(graph: Graph, call: Call) -> dict[str, Pattern]:
    existing = set(_all_tensors(graph))
    keys = call.overrides
    found = {key: parsed(key, existing, OVERRIDES) for key in keys if isinstance(key, str)}
    return {key: pattern for key, pattern in found.items() if pattern is not None}


def _check_tensors(graph: Graph, call: Call) -> None:
    """A pattern that hits nothing of the caller's model is told before any work."""
    for text, pattern in _tensor_patterns(graph, call).items():
        if text not in _by_op_type(call) and not any(_tensors(pattern, graph)):
            known = [node.op_type for node in graph] if pattern.kind == OP else _all_tensors(graph)
            raise no_hit(pattern, OVERRIDES, "tensor", known)


def _all_tensors(graph: Graph) -> Iterator[str]:
    yield from graph.inputs
    yield from graph.initializers
    yield from (name for node in graph for name in node.output if name)


def _tensors(pattern: Pattern, graph: Graph) -> Iterator[str]:
    if pattern.kind == OP:
        candidates = [name for node in graph if pattern.hits(node.op_type) for name in node.output if name]
    else:
        candidates = [name for name in dict.fromkeys(_all_tensors(graph)) if pattern.hits(name)]
    for name in candidates:
        constant = graph.array(name) is not None
        if graph.element_type(name) in FLOAT_OR_UNKNOWN and (not constant or pattern.kind not in (GLOB, OP)):
            yield name
