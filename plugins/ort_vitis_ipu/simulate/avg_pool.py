"""The DPU averages a window by a multiplication and a shift.

The factor belongs to the kernel, not to a position in the image: windows over the border get it too. What they
average is ONNX's to say (``count_include_pad``, ``ceil_mode``): a compiler that cannot honour it leaves the pool
to the CPU, which the forecast of placement tells.

Source: option ConvertAvgPoolToDPUVersion of the Vitis AI Quantizer for ONNX 1.16 manual; models of that release carry
the factors that `reciprocal` computes.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.api import Stage, attribute, transform

from .factor import insert_factors
from .reciprocal import pool_factor

if TYPE_CHECKING:
    from onnx import NodeProto

    from ort_vitis_plugin.api import Context, Graph


def _kernel(graph: Graph, node: NodeProto) -> tuple[int, ...] | None:
    if node.op_type == "AveragePool":
        return tuple(attribute(node, "kernel_shape", ())) or None
    spatial = (graph.shape(node.input[0]) or ())[2:]
    sides = tuple(side for side in spatial if isinstance(side, int) and side > 0)
    return sides if sides and len(sides) == len(spatial) else None


def _factor(graph: Graph, node: NodeProto) -> float | None:
    kernel = _kernel(graph, node)
    return None if kernel is None else pool_factor(kernel)


@transform(
    "ConvertAvgPoolToDPUVersion",
    stage=Stage.SIMULATE,
    target="ipu_cnn",
    needs="SimulateDPU",
    changes_function=True,
)
def avg_pool(graph: Graph, context: Context) -> int:
    """Multiply an AveragePool or GlobalAveragePool over n values by n * K / 2^s, what the DPU computes for 1."""
    return insert_factors(graph, context, graph.of_type("AveragePool", "GlobalAveragePool"), _factor)
