"""The DPU's HardSigmoid has 2731 / 2^14 for the slope 1/6.

Source: option ConvertHardSigmoidToDPUVersion of the Vitis AI Quantizer for ONNX 1.16 manual; models of that release
carry the factor 1.0001220703125 = 2731 / 2^14 * 6.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.api import Stage, transform

from ..device_form import is_device_hard_sigmoid
from .factor import declines, has_factor, insert_factor

if TYPE_CHECKING:
    from ort_vitis_plugin.api import Context, Graph

FACTOR = 2731 / 16384 * 6


@transform(
    "ConvertHardSigmoidToDPUVersion",
    stage=Stage.SIMULATE,
    target="ipu_cnn",
    needs="SimulateDPU",
    changes_function=True,
)
def hard_sigmoid(graph: Graph, context: Context) -> int:
    """Multiply HardSigmoid by 2731 / 2^14 * 6 = 1.0001220703125."""
    count = 0
    for node in graph.of_type("HardSigmoid"):
        if not is_device_hard_sigmoid(node):
            graph.skip(node, "alpha and beta are not 1/6 and 0.5: the DPU does not compute it")
        elif not has_factor(graph, node) and not declines(graph, node, context):
            insert_factor(graph, node, FACTOR)
            count += 1
    return count
