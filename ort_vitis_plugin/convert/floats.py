"""Quantization undone: pairs and FixNeurons go, quantized constants become floats again."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ort_vitis_plugin import custom_ops
from ort_vitis_plugin.custom_ops.functions import (
    CONTRIB_DOMAIN,
    DEQUANTIZE,
    FIX_NEURON,
    QUANTIZE,
    QUARK_DOMAIN,
    VAI_DOMAIN,
)
from ort_vitis_plugin.graph import DEFAULT_DOMAINS, Graph, attribute

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

    from ort_vitis_plugin.graph import Skip

_PAIR_DOMAINS = (*DEFAULT_DOMAINS, "com.microsoft")

# A quantizer whose zero point is the lowest code cuts negatives off, so writers drop a Relu before it.
_SIGNED_RESULTS = frozenset(
    {"Conv", "ConvTranspose", "Gemm", "MatMul", "Add", "Sub", "Mul", "Div"} | {"BatchNormalization"}
)


def _is_quantize(node: NodeProto) -> bool:
    native = node.op_type == "QuantizeLinear" and node.domain in _PAIR_DOMAINS
    return native or (node.domain, node.op_type) in QUANTIZE


def _is_dequantize(node: NodeProto) -> bool:
    native = node.op_type == "DequantizeLinear" and node.domain in _PAIR_DOMAINS
    return native or (node.domain, node.op_type) in DEQUANTIZE


def _cuts_negatives(graph: Graph, node: NodeProto) -> bool:
    """Whether the zero point is the lowest code."""
    if len(node.input) < 3 or not node.input[2]:
        return _is_quantize(node)  # uint8 zero
    zero = graph.array(node.input[2])
    return zero is not None and zero.dtype.kind in "iu" and bool((zero == np.iinfo(zero.dtype).min).all())


def _restore_relu(graph: Graph, node: NodeProto) -> None:
    """Put the Relu back that the zero point of ``node`` may stand for; where there was one, it changes nothing."""
    producer = graph.producer(node.input[0])
    if producer is None or producer.op_type not in _SIGNED_RESULTS or not _cuts_negatives(graph, node):
        return
    rectified = graph.unique(f"{node.input[0]}_Relu_Output")
    graph.make("Relu", [node.input[0]], [rectified], f"{node.input[0]}_Relu")
    graph.replace_input(node, node.input[0], rectified)


def _pass_on(graph: Graph, node: NodeProto) -> None:
    """Let the readers of a node read its first input; a graph output that would be a graph input stays by Identity."""
    if not graph.bypass(node):
        source, target = node.input[0], node.output[0]
        graph.remove(node)
        graph.make("Identity", [source], [target])


def _fold_constant(graph: Graph, node: NodeProto) -> bool:
    """Codes that are constant become a float initializer under the name of the dequantized tensor."""
    codes, scale = graph.array(node.input[0]), graph.array(node.input[1])
    given = len(node.input) > 2 and bool(node.input[2])
    zero = graph.array(node.input[2]) if given else None
    if codes is None or scale is None or (given and zero is None):
        return False
    if attribute(node, "block_size", 0) or scale.dtype != np.float32 or codes.dtype not in custom_ops.STORAGE_DTYPES:
        graph.skip(node, "its codes or scales are of a kind that only onnxruntime dequantizes")
        return False
    zeros = np.zeros(scale.shape, codes.dtype) if zero is None else zero
    values = custom_ops.dequantize_linear(codes, scale, zeros, int(attribute(node, "axis", 1)))
    target = node.output[0]
    graph.remove(node)
    if target in graph.outputs:
        graph.make("Identity", [graph.add_initializer(f"{target}_float", values)], [target])
        return True
    name = graph.add_initializer(f"{target}_float", values)
    graph.replace_uses(target, name)
    return True


def quantized_to_float(model: ModelProto, skips: list[Skip] | None = None) -> ModelProto:
    """The model without its quantize/dequantize pairs and FixNeurons, all three kinds; constants are float again.

    A Relu that a zero point stands for comes back. Values that quantization rounded stay rounded where the model holds
    nothing but their codes. ``model`` stays as it is; ``skips`` gets what stays quantized and why.
    """
    graph = Graph(model)
    graph.step = "quantized_to_float"
    for node in graph:
        if (node.domain, node.op_type) in FIX_NEURON:
            _restore_relu(graph, node)
            _pass_on(graph, node)
        elif _is_dequantize(node):
            producer = graph.producer(node.input[0])
            if producer is not None and _is_quantize(producer):
                _restore_relu(graph, producer)
                graph.set_inputs(node, [producer.input[0]])
                _pass_on(graph, node)
            elif not _fold_constant(graph, node):
                graph.skip(node, "its codes are neither constant nor made by a quantizer")
    for node in graph:
        if _is_quantize(node) and not graph.consumers(node.output[0]) and node.output[0] not in graph.outputs:
            graph.remove(node)
        elif node.op_type.startswith(("QLinear", "QGemm", "ConvInteger", "MatMulInteger")):
            graph.skip(node, f"{node.op_type} computes on codes; only pairs and FixNeurons are undone")
    result = graph.to_model()
    custom_ops.add_functions(result)
    used = {node.domain for node in result.graph.node} | {function.domain for function in result.functions}
    for index in reversed(range(len(result.opset_import))):
        if result.opset_import[index].domain in {VAI_DOMAIN, QUARK_DOMAIN, CONTRIB_DOMAIN} - used:
            del result.opset_import[index]
    if skips is not None:
        skips.extend(graph.skips)
    return result
