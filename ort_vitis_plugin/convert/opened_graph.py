"""What is converted is a model whose nodes of ours have all that a pair needs."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.custom_ops.op_usage import check_nodes, our_nodes
from ort_vitis_plugin.graph import Graph

if TYPE_CHECKING:
    from onnx import ModelProto


def opened_graph(model: ModelProto, step: str) -> Graph:
    """A graph of its own in which the step notes what it declines.

    Raises:
        ModelError: a node of ours lacks an operand.
    """
    for nodes in our_nodes(model).values():
        check_nodes(nodes)
    graph = Graph(model)
    graph.step = step
    return graph
