"""Clip to [0, 6] is Relu with a ceiling; without it, scales of channels can be moved through (see cle/).

    y = min(max(x, 0), 6)  ->  y = max(x, 0)

Changes the function where x > 6. The gate of a hard-swish, x * Clip(x + 3, 0, 6) / 6, keeps its ceiling: without it the
product would grow with the square of x.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin.api import FLOAT_OR_UNKNOWN, Context, Graph, Stage, become, clip_bounds, transform

GATES = ("Mul", "Div")


@transform("ReplaceClip6Relu", stage=Stage.PREPARE, default=False, changes_function=True)
def clip6_to_relu(graph: Graph, context: Context) -> int:
    """Replace every Clip to exactly [0, 6] by Relu."""
    rewrites = 0
    for node in graph.of_type("Clip"):
        bounds = clip_bounds(graph, node)
        if bounds != (0.0, 6.0):
            if None in bounds:
                graph.skip(node, "its bounds are not constant")
            continue
        if graph.element_type(node.input[0]) not in FLOAT_OR_UNKNOWN:
            graph.skip(node, "it clips integers")
            continue
        if any(reader.op_type in GATES for reader in graph.consumers(node.output[0])):
            graph.skip(node, "it gates a product, which would grow without its ceiling")
            continue
        reason = context.refusal(node, any_type=True)
        if reason is not None:
            graph.skip(node, reason)
            continue
        become(graph, node, "Relu", [node.input[0]])
        rewrites += 1
    return rewrites
