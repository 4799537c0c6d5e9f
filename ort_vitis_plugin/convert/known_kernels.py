"""Kernels go by names and versions: pairs take those for which onnxruntime has kernels on codes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.custom_ops.domains import DEQUANTIZE, OURS, QUANTIZE
from ort_vitis_plugin.graph import DEFAULT_DOMAINS, Graph, walk
from ort_vitis_plugin.graph.element_types import EIGHT_BITS, SIXTEEN_BITS
from ort_vitis_plugin.graph.nodes import MICROSOFT
from ort_vitis_plugin.numerics.positions import position_of

from .code_grid import is_native_dequantize, is_native_quantize
from .vitis_qdq import code_type, standardize

if TYPE_CHECKING:
    from onnx import NodeProto

_NEWEST_PAIRS = 25  # of onnxruntime 1.32, which loads models up to opset 28


def is_shift(graph: Graph, node: NodeProto) -> bool:
    """Whether the scales of a Vitis node or FixNeuron are constant powers of two."""
    scale = graph.array(node.input[1])
    return scale is not None and all(position_of(float(each)) is not None for each in scale.flat)


def raise_opset(graph: Graph) -> int:
    """Opset 11 becomes 12, where Clip and MaxPool take codes; all that changed but Dropout only gained by it."""
    if graph.opset != 11 or not any(is_native_quantize(node) or (node.domain, node.op_type) in OURS for node in graph):
        return 0
    if any(node.op_type == "Dropout" and node.domain in DEFAULT_DOMAINS for node in walk(graph)):
        return 0
    if any((function.domain, function.name) not in OURS for function in graph.model.functions):
        return 0
    for entry in graph.model.opset_import:
        if entry.domain in DEFAULT_DOMAINS:
            entry.version = 12
    return 1


def take_standard_names(graph: Graph) -> int:
    """8-bit power-of-two nodes of Vitis, Quark and onnxruntime-extensions, and FixNeurons, as ONNX's own."""
    count = 0
    for node in graph:
        if (node.domain, node.op_type) not in OURS or (not is_shift(graph, node) and _has_eight_bits(graph, node)):
            continue
        count += standardize(graph, node) == ""
    return count


def _has_eight_bits(graph: Graph, node: NodeProto) -> bool:
    return code_type(graph, node, quantizes=(node.domain, node.op_type) in QUANTIZE) in EIGHT_BITS


def take_contrib_names(graph: Graph) -> int:
    """16-bit nodes of Vitis and Quark as com.microsoft's, which know 16 bits at any opset."""
    count = 0
    for node in graph:
        quantizes = (node.domain, node.op_type) in QUANTIZE
        if not quantizes and (node.domain, node.op_type) not in DEQUANTIZE:
            continue
        has_one_scale = graph.static_shape(node.input[1]) in ((), (1,))
        if has_one_scale and code_type(graph, node, quantizes=quantizes) in SIXTEEN_BITS:
            node.op_type, node.domain = "QuantizeLinear" if quantizes else "DequantizeLinear", MICROSOFT
            del node.attribute[:]
            count += 1
    return count


def take_known_names(graph: Graph) -> int:
    """Pairs of com.microsoft in models whose opset is newer than onnxruntime's kernels of ONNX's own pairs."""
    nodes = [
        node
        for node in graph
        if (is_native_quantize(node) or is_native_dequantize(node)) and node.domain in DEFAULT_DOMAINS
    ]
    if graph.opset <= _NEWEST_PAIRS:
        return 0
    for node in nodes:
        node.domain = MICROSOFT
        for index in reversed(range(len(node.attribute))):
            if node.attribute[index].name != "axis":
                del node.attribute[index]
    return len(nodes)
