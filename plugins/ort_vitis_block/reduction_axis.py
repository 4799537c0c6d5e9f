"""Values that are multiplied and summed with each other share an exponent: blocks lie along the axis of the sum."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.api import DEFAULT_DOMAINS, attribute

if TYPE_CHECKING:
    from onnx import NodeProto

    from ort_vitis_plugin.api import Graph

CHANNEL = 1
LAST = -1


def _of_gemm(node: NodeProto, index: int) -> int:
    transposed = bool(attribute(node, "transB" if index else "transA", 0))
    return int(transposed) if index else 1 - int(transposed)


def reduction_axis(graph: Graph, node: NodeProto, index: int) -> int | None:
    """The axis of its ``index``-th input that a node sums over; None where it sums over none.

    MatMul: the last of the first operand and the last but one of the second; Gemm: as transA and transB say; Conv: the
    channels of data and weights; recurrent layers: the last; Softmax and normalizations: their own attribute.
    """
    if node.domain not in DEFAULT_DOMAINS:
        return None
    if node.op_type == "MatMul":
        rank = len(graph.shape(node.input[index]) or (0, 0))
        return -2 if index and rank > 1 else LAST
    if node.op_type == "Gemm" and index < 2:
        return _of_gemm(node, index)
    if node.op_type == "Conv" and index < 2:
        return CHANNEL
    if node.op_type == "ConvTranspose" and index < 2:
        return 0 if index else CHANNEL
    if node.op_type in ("LSTM", "GRU", "RNN") and index < 3:
        return LAST
    if node.op_type in ("Softmax", "LogSoftmax") and index == 0:
        return int(attribute(node, "axis", LAST if graph.opset >= 13 else 1))
    if node.op_type == "LayerNormalization" and index == 0:
        return int(attribute(node, "axis", LAST))
    return None


def default_axis(graph: Graph, tensor: str) -> int:
    """The axis of a tensor that nobody sums over: the channels of images, else the last."""
    return CHANNEL if len(graph.shape(tensor) or ()) >= 4 else LAST
