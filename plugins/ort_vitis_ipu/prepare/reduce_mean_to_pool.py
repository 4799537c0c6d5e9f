"""The mean over height and width is a global average pool.

    ReduceMean(x[N, C, H, W], axes = [2, 3])  ->  GlobalAveragePool(x)      (keepdims = 0: Flatten behind it)

Summation order may differ: outputs agree within 1e-6 of their largest value.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from onnx import NodeProto

from ort_vitis_plugin.api import (
    FLOAT_OR_UNKNOWN,
    Context,
    Graph,
    Stage,
    attribute,
    become,
    has_input,
    integers,
    transform,
)


def why_not(graph: Graph, node: NodeProto) -> str | None:
    """Why the node is no mean over height and width, or None."""
    axes = integers(graph, node, "axes", 1)
    if axes is None:
        return "its axes are computed" if has_input(node, 1) else "it reduces all axes"
    shape = graph.shape(node.input[0])
    if shape is None:
        return "the rank of its input is unknown; infer shapes first"
    if len(shape) != 4 or sorted(axis % 4 for axis in axes) != [2, 3]:
        return f"it reduces axes {axes} of rank {len(shape)}, not height and width of rank 4"
    return None if graph.element_type(node.input[0]) in FLOAT_OR_UNKNOWN else "it averages integers"


@transform("ConvertReduceMeanToGlobalAvgPool", stage=Stage.PREPARE, target="ipu_cnn", after=("CrossLayerEqualization",))
def reduce_mean_to_pool(graph: Graph, context: Context) -> int:
    """Turn a ReduceMean over height and width into GlobalAveragePool."""
    rewrites = 0
    for node in graph.of_type("ReduceMean"):
        reason = context.refusal(node) or why_not(graph, node)
        if reason is not None:
            graph.skip(node, reason)
            continue
        keep = attribute(node, "keepdims", 1)
        become(graph, node, "GlobalAveragePool", node.input[:1])
        if not keep:
            output = node.output[0]
            pooled = graph.unique(f"{output}_pooled")
            graph.set_outputs(node, [pooled])
            graph.make("Flatten", [pooled], [output], axis=1)
            shape = graph.shape(node.input[0])
            assert shape is not None
            graph.describe(pooled, graph.element_type(node.input[0]), [*shape[:2], 1, 1])
        rewrites += 1
    return rewrites
