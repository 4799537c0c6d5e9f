"""A node that onnxruntime's optimizer made computes what several did: what was said of them holds of it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto


def fused_nodes(before: ModelProto, after: ModelProto) -> dict[str, tuple[NodeProto, ...]]:
    """Nodes of ``after`` by name, each with the nodes of ``before`` in whose place it stands, in their order.

    What became a constant is none of them, and a node that stands for itself alone is left out. Names are unique.
    """
    makers = {tensor: node for node in before.graph.node for tensor in node.output if tensor}
    order = {node.name: number for number, node in enumerate(before.graph.node)}
    left = {node.name for node in after.graph.node}
    folded = _constants(before.graph)
    found = {}
    for node in after.graph.node:
        gone: dict[str, NodeProto] = {}
        waiting = list(node.output)
        while waiting:
            tensor = waiting.pop()
            maker = makers.get(tensor)
            if maker is None or tensor in folded or tensor in node.input or maker.name in gone:
                continue
            if maker.name in left and maker.name != node.name:
                continue
            gone[maker.name] = maker
            waiting += maker.input
        if gone.keys() - {node.name}:
            found[node.name] = tuple(gone[name] for name in sorted(gone, key=order.__getitem__))
    return found


def _constants(graph: GraphProto) -> set[str]:
    """Initializers, and what is computed from them alone."""
    known = {tensor.name for tensor in graph.initializer}
    for node in graph.node:
        if all(name in known for name in node.input if name):
            known.update(node.output)
    return known
