"""What lies on a path from a QuantStub to a DeQuantStub is quantized, and nothing else.

Markers are nodes of the exported graph; here they are read and taken out.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from onnx import ModelProto, NodeProto

from .errors import ExportError
from .stubs import BEGIN, DOMAIN


@dataclass(frozen=True)
class Regions:
    """The nodes between stubs, those outside, and the tensors from outside at which regions begin."""

    nodes: frozenset[str]
    outside: frozenset[str]
    begins: frozenset[str]

    def release(self, written: ModelProto) -> None:
        """Let nodes outside read a tensor itself where a region begins with it, not its codes; in place."""
        source = {name: node.input[0] for node in written.graph.node for name in node.output[:1]}
        pairs = {
            node.output[0]: source[node.input[0]]
            for node in written.graph.node
            if node.op_type == "DequantizeLinear" and source.get(node.input[0]) in self.begins
        }
        for node in written.graph.node:
            if node.name in self.outside:
                node.input[:] = [pairs.get(name, name) for name in node.input]


def find_regions(model: ModelProto) -> Regions | None:
    """The nodes between the stubs of ``model``, whose markers are removed in place; None where it has no stub.

    Raises ExportError for a DeQuantStub without a QuantStub, and where nothing lies between the stubs.
    """
    markers = [node for node in model.graph.node if node.domain == DOMAIN]
    if not markers:
        return None
    readers: dict[str, list[NodeProto]] = defaultdict(list)
    for node in model.graph.node:
        for name in node.input:
            readers[name].append(node)
    starts = [node for node in markers if node.op_type == BEGIN]
    if not starts:
        raise ExportError("the module calls a DeQuantStub but no QuantStub; call one where the quantized part begins")
    inside = _between(starts, readers)
    if not inside:
        raise ExportError(
            "nothing lies between QuantStub and DeQuantStub; call the stubs around what is to be quantized"
        )
    inside |= _constants(model, inside)
    begins = set(_bypass(model, markers))
    for node in model.graph.node:
        if node.name in inside:
            begins.difference_update(node.output)
    for opset in [entry for entry in model.opset_import if entry.domain == DOMAIN]:
        model.opset_import.remove(opset)
    outside = {node.name for node in model.graph.node} - inside
    return Regions(frozenset(inside), frozenset(outside), frozenset(begins))


def _between(starts: list[NodeProto], readers: dict[str, list[NodeProto]]) -> set[str]:
    found: set[str] = set()
    rest = [name for start in starts for name in start.output]
    while rest:
        for node in readers[rest.pop()]:
            if node.domain == DOMAIN or node.name in found:
                continue
            found.add(node.name)
            rest += node.output
    return found


def _constants(model: ModelProto, inside: set[str]) -> set[str]:
    """Nodes without inputs that feed a region belong to it."""
    read = {name for node in model.graph.node if node.name in inside for name in node.input}
    return {node.name for node in model.graph.node if not node.input and read.intersection(node.output)}


def _bypass(model: ModelProto, markers: list[NodeProto]) -> list[str]:
    """Take out the markers; the tensors that stand where regions began."""
    source = {node.output[0]: node.input[0] for node in markers}

    def root(name: str) -> str:
        while name in source:
            name = source[name]
        return name

    outputs = [value.name for value in model.graph.output]
    begins = [root(node.output[0]) for node in markers if node.op_type == BEGIN]
    for marker in markers:
        model.graph.node.remove(marker)
    renamed: dict[str, str] = {}
    produced = {name for node in model.graph.node for name in node.output}
    for name in outputs:
        if name not in source:
            continue
        origin = root(name)
        if origin in produced and origin not in outputs and origin not in renamed:
            renamed[origin] = name
        else:
            model.graph.node.append(
                NodeProto(op_type="Identity", name=f"{name}_Identity", input=[origin], output=[name])
            )
    for node in model.graph.node:
        node.input[:] = [renamed.get(root(name), root(name)) for name in node.input]
        node.output[:] = [renamed.get(name, name) for name in node.output]
    for value in [value for value in model.graph.value_info if value.name in source or value.name in renamed]:
        model.graph.value_info.remove(value)
    return [renamed.get(name, name) for name in begins]
