"""The DPU clips at 0, or at 0 and 6, while it writes a result.

Source: models of the Vitis AI Quantizer for ONNX 1.16, which carry no pair there with enable_dpu; its
manual names two further pairs, RemoveQDQConvLeakyRelu and RemoveQDQConvPRelu.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.api import clip_bounds, fusion

from .pair import ACTIVATED, is_only_reader

if TYPE_CHECKING:
    from onnx import NodeProto

    from ort_vitis_plugin.api import Graph

TOLERANCE = 1e-6


def _is_relu6(graph: Graph, node: NodeProto) -> bool:
    low, high = clip_bounds(graph, node)
    return low is not None and high is not None and abs(low) <= TOLERANCE and abs(high - 6) <= TOLERANCE


@fusion("RemoveQDQConvRelu", producers=ACTIVATED, consumers=("Relu", "Clip"), target="ipu_cnn", default=True)
def conv_relu(graph: Graph, producer: NodeProto, consumer: NodeProto) -> bool:
    """No QDQ pair between a Conv (Add, Gemm, pool...) and the Relu or Clip(0, 6) behind it."""
    return is_only_reader(graph, producer, consumer) and (consumer.op_type == "Relu" or _is_relu6(graph, consumer))
