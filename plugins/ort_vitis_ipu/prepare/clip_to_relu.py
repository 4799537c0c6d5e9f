"""With the range calibrated behind the Clip, saturation at that range does what its upper bound did.

    y = min(max(x, 0), high)  ->  y = max(x, 0), saturated when quantized

Only for a lower bound of exactly 0: Clip(x, 1, 2) is no Relu. Changes the function where x > high.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin.api import FLOAT_OR_UNKNOWN, Context, Graph, Stage, become, clip_bounds, transform


@transform(
    "ConvertClipToRelu",
    stage=Stage.AFTER_CALIBRATION,
    default=False,
    target="ipu_cnn",
    before=("FloatFarOutput",),
    changes_function=True,
)
def clip_to_relu(graph: Graph, context: Context) -> int:
    """Replace a Clip whose lower bound is exactly 0 by Relu, after calibration."""
    rewrites = 0
    for node in graph.of_type("Clip"):
        low, _ = clip_bounds(graph, node)
        reason = context.refusal(node)
        if low is None:
            reason = "its lower bound is not constant"
        elif low != 0.0:
            reason = f"its lower bound is {low:g}, Relu's is 0"
        elif graph.element_type(node.input[0]) not in FLOAT_OR_UNKNOWN:
            reason = "it clips integers"
        if reason is not None:
            graph.skip(node, reason)
            continue
        become(graph, node, "Relu", [node.input[0]])
        rewrites += 1
    return rewrites
