"""Every node gets a name of its own, so that callers can select it and reports can speak of it.

onnxruntime refuses two nodes of one name in one graph; in a body they part here too.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.api import Graph, Stage, follow_node, subgraphs, transform

if TYPE_CHECKING:
    from onnx import GraphProto

    from ort_vitis_plugin.api import Run


def _part_names(graph: Graph, body: GraphProto, run: Run | None) -> int:
    taken: set[str] = set()
    count = 0
    for node in body.node:
        if node.name in taken:
            shared, node.name = node.name, graph.unique(node.name)
            follow_node(run, shared, shared, node.name)
            count += 1
        taken |= {node.name} - {""}
        count += sum(_part_names(graph, inner, run) for inner in subgraphs(node))
    return count


@transform("NameNodes", stage=Stage.NORMALIZE, default=None)
def name_nodes(graph: Graph, run: Run | None = None) -> int:
    """Name an unnamed node after its type and first output; of nodes of one name all but the first get a number."""
    taken: set[str] = set()
    count = 0
    for node in graph:
        if not node.name or node.name in taken:
            output = next((tensor for tensor in node.output if tensor), "")
            shared, node.name = node.name, graph.unique(node.name or f"{node.op_type}_{output}")
            if shared:
                follow_node(run, shared, shared, node.name)
            count += 1
        taken.add(node.name)
        count += sum(_part_names(graph, body, run) for body in subgraphs(node))
    return count
