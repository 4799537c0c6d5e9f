"""An optional input that is written as '' at the end of the list is the same as one that is not written."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin.api import Graph, Stage, transform


@transform("TrimInputs", stage=Stage.NORMALIZE, default=None)
def trim_inputs(graph: Graph) -> int:
    """Drop empty names from the end of a node's inputs and outputs."""
    count = 0
    for node in graph:
        inputs, outputs = list(node.input), list(node.output)
        while inputs and not inputs[-1]:
            inputs.pop()
        while len(outputs) > 1 and not outputs[-1]:
            outputs.pop()
        if len(inputs) < len(node.input):
            graph.set_inputs(node, inputs)
            count += 1
        if len(outputs) < len(node.output):
            graph.set_outputs(node, outputs)
            count += 1
    return count
