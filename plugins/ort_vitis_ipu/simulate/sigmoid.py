"""The DPU has no exponential for a Sigmoid: it takes the straight lines of HardSigmoid.

Source: option ConvertSigmoidToHardSigmoid of the Vitis AI Quantizer for ONNX 1.16 manual; models of that release hold
HardSigmoid with alpha = 1/6 and beta = 1/2.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import helper

from ort_vitis_plugin.api import Stage, ends_in_infinity, transform

from .factor import declines

if TYPE_CHECKING:
    from ort_vitis_plugin.api import Context, Graph


@transform(
    "ConvertSigmoidToHardSigmoid",
    stage=Stage.SIMULATE,
    target="ipu_cnn",
    needs="SimulateDPU",
    changes_function=True,
)
def sigmoid(graph: Graph, context: Context) -> int:
    """Replace Sigmoid by HardSigmoid: max(0, min(1, x / 6 + 0.5))."""
    count = 0
    for node in graph.of_type("Sigmoid"):
        if declines(graph, node, context):
            continue
        if ends_in_infinity(graph, node.output[0], 0.0, 1.0):
            graph.skip(
                node, "a logarithm or quotient of it would be infinite: HardSigmoid reaches 0 and 1, Sigmoid does not"
            )
            continue
        node.op_type = "HardSigmoid"
        node.attribute.extend([helper.make_attribute("alpha", 1 / 6), helper.make_attribute("beta", 0.5)])
        count += 1
    if count:
        context.stand_in("HardSigmoid")  # who selected Sigmoid selected what stands for it
    return count
