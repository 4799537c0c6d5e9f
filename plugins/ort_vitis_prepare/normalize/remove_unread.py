"""What leads to no output is no part of the model: not calibrated, not quantized, not written."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin.api import Graph, Stage, transform


@transform("RemoveUnread", stage=Stage.NORMALIZE, default=None)
def remove_unread(graph: Graph) -> int:
    """Remove nodes that lead to no output of the graph."""
    count = 0
    for node in reversed(list(graph.sorted())):
        if any(tensor in graph.outputs or graph.consumers(tensor) for tensor in node.output if tensor):
            continue
        if {node.name, *node.output} & graph.kept:
            graph.skip(node, "the request names it")
            continue
        graph.remove(node)
        count += 1
    return count
