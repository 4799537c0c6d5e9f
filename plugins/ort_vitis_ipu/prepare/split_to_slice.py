"""Every output of a Split is a Slice.

    Split(x, sizes)  ->  y_i = x[..., sum(sizes[:i]) : sum(sizes[:i + 1]), ...] along the axis

Without sizes, n outputs share the axis: ceil(d / n) each, the last one what is left (d / n before opset 18).
The values are moved, not computed: outputs are equal.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from itertools import accumulate

import numpy as np
from onnx import NodeProto

from ort_vitis_plugin.api import Context, Graph, Stage, attribute, has_input, integers, rewire, transform

INPUTS_SINCE = 10  # Slice takes starts, ends, axes and steps as inputs


def sizes(graph: Graph, node: NodeProto) -> list[int] | str:
    """Length of every output along the axis, or why it is not known."""
    listed = integers(graph, node, "split", 1)
    if listed is not None:
        return listed
    if has_input(node, 1):
        return "its sizes are computed"
    shape = graph.shape(node.input[0])
    axis = attribute(node, "axis", 0)
    if shape is None or not -len(shape) <= axis < len(shape) or not isinstance(shape[axis], int):
        return "the length of the axis is unknown; give sizes or infer shapes first"
    length = shape[axis]
    assert isinstance(length, int)
    count = len(node.output)
    each = -(-length // count)
    lengths = [each] * (count - 1) + [length - each * (count - 1)]
    return lengths if lengths[-1] >= 0 else f"{length} values cannot be shared by {count} outputs"


@transform("ConvertSplitToSlice", stage=Stage.PREPARE, target="ipu_cnn", after=("SplitLargeKernelPool",))
def split_to_slice(graph: Graph, context: Context) -> int:
    """Turn every output of a Split into a Slice."""
    rewrites = 0
    for node in graph.of_type("Split"):
        lengths = context.refusal(node) or sizes(graph, node)
        if isinstance(lengths, str):
            graph.skip(node, lengths)
            continue
        axis = attribute(node, "axis", 0)
        ends = list(accumulate(lengths))
        source, outputs, base = node.input[0], list(node.output), node.name or node.output[0]
        rewire(graph, node, [source])
        graph.remove(node)
        for number, (output, end, length) in enumerate(zip(outputs, ends, lengths, strict=True)):
            if not graph.consumers(output) and output not in graph.outputs:
                continue
            values = {"starts": end - length, "ends": end, "axes": axis, "steps": 1}
            if graph.opset < INPUTS_SINCE:
                window = {key: [value] for key, value in values.items() if key != "steps"}
                graph.make("Slice", [source], [output], f"{base}_{number}", **window)
                continue
            window_inputs = [
                graph.add_initializer(f"{base}_{key}_{number}", np.array([value], dtype=np.int64))
                for key, value in values.items()
            ]
            graph.make("Slice", [source, *window_inputs], [output], f"{base}_{number}")
        rewrites += 1
    return rewrites
