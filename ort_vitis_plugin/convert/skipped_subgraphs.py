"""Conversions leave the bodies of If, Loop and Scan as they are, and say so."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.custom_ops.qdq_nodes import is_block_pair
from ort_vitis_plugin.graph import Graph, subgraphs

if TYPE_CHECKING:
    from collections.abc import Callable

    from onnx import NodeProto


def skip_blocks(graph: Graph) -> None:
    """Report every node of numbers that share an exponent: no conversion has codes of its own for them."""
    for node in graph:
        if is_block_pair(node):
            graph.skip(node, "its numbers share an exponent by block, which no scale and zero point can say")
    skip_bodies(graph, is_block_pair)


def skip_bodies(graph: Graph, concerns: Callable[[NodeProto], bool]) -> None:
    """Report every node inside a body that the conversion would have changed outside."""
    for owner in graph:
        waiting = list(subgraphs(owner))
        while waiting:
            for node in waiting.pop().node:
                if concerns(node):
                    graph.skip(node, f"it is in a body of {owner.op_type} node '{owner.name}', which stays as it is")
                waiting.extend(subgraphs(node))
