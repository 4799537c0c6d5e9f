"""A dilation of 1 is none: onnxruntime's AveragePool on codes does not know the attribute, whatever it says."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin.api import Graph, Stage, attribute, transform


@transform("DropDilations", stage=Stage.NORMALIZE, default=None)
def drop_dilations(graph: Graph) -> int:
    """Drop dilations of 1 from AveragePool."""
    count = 0
    for node in graph.of_type("AveragePool"):
        if set(attribute(node, "dilations", ())) == {1}:
            kept = [entry for entry in node.attribute if entry.name != "dilations"]
            del node.attribute[:]
            node.attribute.extend(kept)
            count += 1
    return count
