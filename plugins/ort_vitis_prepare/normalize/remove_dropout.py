"""A Dropout does nothing outside training."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.api import Graph, Stage, transform

if TYPE_CHECKING:
    from onnx import NodeProto


def _is_idle(graph: Graph, node: NodeProto) -> bool:
    """Not training, and nobody reads the mask."""
    mask = node.output[1] if len(node.output) > 1 else ""
    if mask and (mask in graph.outputs or graph.consumers(mask)):
        return False
    if len(node.input) < 3 or not node.input[2]:
        return True
    training = graph.array(node.input[2]) if graph.is_constant(node.input[2]) else None
    return training is not None and not training.any()


@transform("RemoveDropout", stage=Stage.NORMALIZE, default=None)
def remove_dropout(graph: Graph) -> int:
    """Remove Dropout that is not training and whose mask nobody reads."""
    return sum(_is_idle(graph, node) and graph.bypass(node) for node in graph.of_type("Dropout"))
