"""The DPU clips at 0, or at 0 and 6, while it writes a result.

Source: models of the Vitis AI Quantizer for ONNX 1.16, which carry no pair there with enable_dpu; its
manual names two further pairs, RemoveQDQConvLeakyRelu and RemoveQDQConvPRelu.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.api import attribute, fusion

from .pair import ACTIVATED, is_only_reader

if TYPE_CHECKING:
    from onnx import NodeProto

    from ort_vitis_plugin.api import Graph

TOLERANCE = 1e-6


def _limit(graph: Graph, node: NodeProto, index: int, name: str) -> float | None:
    """A limit of a Clip: an attribute below opset 11, a constant input since; None where absent or computed."""
    if len(node.input) > index and node.input[index]:
        value = graph.array(node.input[index])
        return float(value.item()) if value is not None and value.size == 1 else None
    value = attribute(node, name)
    return None if value is None else float(value)


def _is_relu6(graph: Graph, node: NodeProto) -> bool:
    low, high = _limit(graph, node, 1, "min"), _limit(graph, node, 2, "max")
    return low is not None and high is not None and abs(low) <= TOLERANCE and abs(high - 6) <= TOLERANCE


@fusion("RemoveQDQConvRelu", producers=ACTIVATED, consumers=("Relu", "Clip"), target="ipu_cnn", default=True)
def conv_relu(graph: Graph, producer: NodeProto, consumer: NodeProto) -> bool:
    """No QDQ pair between a Conv (Add, Gemm, pool...) and the Relu or Clip(0, 6) behind it."""
    return is_only_reader(graph, producer, consumer) and (consumer.op_type == "Relu" or _is_relu6(graph, consumer))
