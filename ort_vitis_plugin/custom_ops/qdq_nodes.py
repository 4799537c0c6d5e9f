"""A node quantizes or dequantizes in ONNX's, onnxruntime's or AMD's spelling."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.custom_ops.domains import BLOCK_PAIRS, DEQUANTIZE, FIX_NEURON, QUANTIZE
from ort_vitis_plugin.graph.nodes import ORT_DOMAINS

if TYPE_CHECKING:
    from onnx import NodeProto


def has_scale(node: NodeProto) -> bool:
    """Whether a node that quantizes or dequantizes has its tensor, its scale and its result; else it is no pair's."""
    return len(node.input) > 1 and all(node.input[:2]) and bool(node.output)


def is_native(node: NodeProto | None, op_type: str) -> bool:
    """Whether the node is this operator of ONNX, or onnxruntime's twin of it (16 and 4 bits below opset 21)."""
    return node is not None and node.op_type == op_type and node.domain in ORT_DOMAINS and has_scale(node)


def is_quantize(node: NodeProto) -> bool:
    """float -> codes."""
    return is_native(node, "QuantizeLinear") or ((node.domain, node.op_type) in QUANTIZE and has_scale(node))


def is_dequantize(node: NodeProto) -> bool:
    """codes -> float."""
    return is_native(node, "DequantizeLinear") or ((node.domain, node.op_type) in DEQUANTIZE and has_scale(node))


def is_fix_neuron(node: NodeProto) -> bool:
    """float -> float, a whole pair in one node."""
    return (node.domain, node.op_type) in FIX_NEURON and has_scale(node)


def is_block_pair(node: NodeProto) -> bool:
    """float -> float, a whole pair in one node whose blocks share exponents: it has neither scale nor zero point."""
    return (node.domain, node.op_type) in BLOCK_PAIRS
