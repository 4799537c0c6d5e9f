"""Behind what only leaves the model nothing computes any more."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container

    from onnx import NodeProto

    from ort_vitis_plugin.api import Graph


def only_leaves(graph: Graph, node: NodeProto, leaving: Container[str]) -> bool:
    """Whether each result of a node is an output, or is read, and by none but the ``leaving`` nodes, given by name."""

    def leaves(tensor: str) -> bool:
        readers = graph.consumers(tensor)
        return all(reader.name in leaving for reader in readers) and (bool(readers) or tensor in graph.outputs)

    return all(leaves(tensor) for tensor in node.output if tensor)
