"""Values that are multiplied and summed with each other share an exponent: blocks lie along the axis of the sum."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.api import DEFAULT_DOMAINS, SOFTMAXES, attribute

from .op_attributes import BLOCK_OPS
from .self_gates import POINTWISE

if TYPE_CHECKING:
    from onnx import NodeProto

    from ort_vitis_plugin.api import Graph

CHANNEL = 1
LAST = -1
IMAGE = 4
"""Axes of images, and of what has more."""
FARTHEST = 16
"""Nodes that are followed for an axis; a choice."""


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
    if node.op_type in SOFTMAXES and index == 0:
        return int(attribute(node, "axis", LAST if graph.opset >= 13 else 1))
    if node.op_type == "LayerNormalization" and index == 0:
        return int(attribute(node, "axis", LAST))
    return None


def default_axis(graph: Graph, tensor: str) -> int:
    """The axis of a tensor that nobody sums over: that of the sum behind the pointwise nodes that read it, else that of
    the values it is made of, else the channels of images, or the last."""
    axis = _axis_behind(graph, tensor)
    return axis if axis is not None else _axis_of_values(graph, tensor)


def _rank(graph: Graph, tensor: str) -> int:
    return len(graph.shape(tensor) or ())


def _is_pair(node: NodeProto) -> bool:
    return (node.domain, node.op_type) in BLOCK_OPS


def _before_pair(graph: Graph, tensor: str) -> str:
    """The tensor itself, or the one whose values it has lost to a block op."""
    node = graph.producer(tensor)
    return str(node.input[0]) if node is not None and _is_pair(node) else tensor


def _axis_behind(graph: Graph, tensor: str) -> int | None:
    """The axis over which the first node sums that pointwise ones lead to."""
    rank, waiting = _rank(graph, tensor), [tensor]
    for name in waiting:
        for node in graph.consumers(name) if rank else ():
            axes = (reduction_axis(graph, node, at) for at, read in enumerate(node.input) if read == name)
            axis = next((axis for axis in axes if axis is not None), None)
            if axis is not None and -rank <= axis < rank:
                return axis
            is_step = _is_pair(node) or (node.op_type in POINTWISE and _rank(graph, node.output[0]) == rank)
            if is_step and len(waiting) < FARTHEST and node.output[0] not in waiting:
                waiting.append(node.output[0])
    return None


def _axis_of_values(graph: Graph, tensor: str) -> int:
    """The channels of what a product made, wherever nodes that keep or move values have brought them."""
    rank = _rank(graph, tensor)
    otherwise, moves = CHANNEL if rank >= IMAGE else LAST, list[list[int]]()
    for _ in range(FARTHEST):
        node = graph.producer(tensor)
        if node is None or node.domain not in DEFAULT_DOMAINS:
            return otherwise
        sources = [_before_pair(graph, name) for name in node.input if name]
        if node.op_type == "MatMul" or (node.op_type == "Reshape" and _rank(graph, sources[0]) < IMAGE <= rank):
            return _moved(rank - 1, moves) if rank else LAST
        if node.op_type == "Transpose" and len(order := attribute(node, "perm", ())) == rank:
            moves.append(list(order))
        elif node.op_type not in POINTWISE:
            return otherwise
        tensor = next((n for n in sources if _rank(graph, n) == rank and not graph.is_constant(n)), "")
    return otherwise


def _moved(axis: int, moves: list[list[int]]) -> int:
    """Where an axis lies behind Transposes, of which the last comes first."""
    for order in reversed(moves):
        axis = order.index(axis)
    return axis
