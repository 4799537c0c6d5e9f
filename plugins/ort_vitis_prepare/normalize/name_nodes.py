"""Every node gets a name of its own, so that callers can select it and reports can speak of it.

onnxruntime refuses two nodes of one name in one graph; in a body they part here too.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.api import Graph, Stage, subgraphs, transform

if TYPE_CHECKING:
    from onnx import GraphProto


def _part_names(graph: Graph, body: GraphProto) -> int:
    taken: set[str] = set()
    count = 0
    for node in body.node:
        if node.name in taken:
            graph.rename_node(node, graph.unique(node.name), shared=True)
            count += 1
        taken |= {node.name} - {""}
        count += sum(_part_names(graph, inner) for inner in subgraphs(node))
    return count


@transform("NameNodes", stage=Stage.NORMALIZE, default=None)
def name_nodes(graph: Graph) -> int:
    """Name an unnamed node after its type and first output; of nodes of one name all but the first get a number."""
    taken: set[str] = set()
    count = 0
    for node in graph:
        if not node.name or node.name in taken:
            output = next((tensor for tensor in node.output if tensor), "")
            graph.rename_node(node, graph.unique(node.name or f"{node.op_type}_{output}"), shared=True)
            count += 1
        taken.add(node.name)
        count += sum(_part_names(graph, body) for body in subgraphs(node))
    return count
