"""The DPU multiplies negative values by a slope of 8 fractional bits.

Source: option ConvertLeakyReluToDPUVersion of the Vitis AI Quantizer for ONNX 1.16 manual; models of that release
carry the slope round(256 * alpha) / 256, 26/256 for 0.1.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import helper

from ort_vitis_plugin.api import Stage, attribute, transform

from .factor import declines

if TYPE_CHECKING:
    from ort_vitis_plugin.api import Context, Graph


@transform(
    "ConvertLeakyReluToDPUVersion",
    stage=Stage.SIMULATE,
    target="ipu_cnn",
    needs="SimulateDPU",
    changes_function=True,
)
def leaky_relu(graph: Graph, context: Context) -> int:
    """Round the slope of a LeakyRelu to 8 fractional bits: round(256 * alpha) / 256."""
    count = 0
    for node in graph.of_type("LeakyRelu"):
        alpha = attribute(node, "alpha", 0.01)
        rounded = round(256 * alpha) / 256
        if rounded == alpha or declines(graph, node, context):
            continue
        del node.attribute[:]
        node.attribute.append(helper.make_attribute("alpha", rounded))
        count += 1
    return count
