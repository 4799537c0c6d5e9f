"""A constant that is rounded at every run gives the same numbers when it is stored as it is after rounding.

Products of wide numbers are sums that round, in an order that depends on whether a weight is known when a session
starts: a weight that a caller could replace (an initializer that is listed as an input, too) is taken as it comes, like
one that is computed.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, helper

from ort_vitis_plugin import custom_ops
from ort_vitis_plugin.custom_ops.domains import DEQUANTIZE, FIX_NEURON, QUANTIZE
from ort_vitis_plugin.graph import DEFAULT_DOMAINS, Graph, attribute, has_input
from ort_vitis_plugin.graph.element_types import EIGHT_BITS
from ort_vitis_plugin.graph.op_sets import PRODUCTS

from .code_grid import (
    clear_unread,
    constant_values,
    grid_behind,
    grid_of,
    is_native_dequantize,
    is_native_quantize,
    sole_quantizer,
)
from .product_biases import LARGEST, sum_limits
from .qlinear_site import SCALE_TOLERANCE

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import NodeProto


def fold_codes(graph: Graph) -> int:
    """A quantize node of ONNX's behind a constant becomes its 8-bit codes; how many."""
    count = 0
    for node in graph:
        grid = grid_of(graph, node) if is_native_quantize(node) else None
        array = graph.array(node.input[0]) if grid is not None and node.input[0] not in graph.inputs else None
        if grid is None or array is None or array.dtype != np.float32 or node.output[0] in graph.outputs:
            continue
        codes = graph.add_initializer(f"{node.input[0]}_quantized", grid.codes(array))
        graph.remove(node)
        graph.replace_uses(node.output[0], codes)
        count += 1
    return count


def _parameters(graph: Graph, node: NodeProto) -> tuple[NDArray[Any], NDArray[Any] | None] | None:
    scale = graph.array(node.input[1])
    given = has_input(node, 2)
    zero = graph.array(node.input[2]) if given else None
    return None if scale is None or scale.dtype != np.float32 or (given and zero is None) else (scale, zero)


def _rounded(graph: Graph, node: NodeProto) -> tuple[str, NDArray[np.float32]] | None:
    """The constant that a Vitis pair or FixNeuron ending in ``node`` rounds, and its numbers afterwards."""
    key, axis = (node.domain, node.op_type), int(attribute(node, "axis", 1))
    parameters = _parameters(graph, node)
    if parameters is None:
        return None
    if key in FIX_NEURON:
        array = _constant(graph, node.input[0])
        if array is None:
            return None
        return node.input[0], custom_ops.fix_neuron(array, *parameters, custom_ops.bit_width_of(node), axis)
    quantizer = graph.producer(node.input[0])
    if quantizer is None:
        codes = graph.array(node.input[0])
        if codes is None or codes.dtype not in custom_ops.STORAGE_DTYPES:
            return None
        return node.input[0], custom_ops.dequantize_linear(codes, *parameters, axis)
    given = _parameters(graph, quantizer) if (quantizer.domain, quantizer.op_type) in QUANTIZE else None
    array = _constant(graph, quantizer.input[0]) if given is not None else None
    if array is None or given is None:
        return None
    codes = custom_ops.quantize_linear(array, *given, int(attribute(quantizer, "axis", 1)))
    return quantizer.input[0], custom_ops.dequantize_linear(codes, *parameters, axis)


def _constant(graph: Graph, tensor: str) -> NDArray[Any] | None:
    array = graph.array(tensor) if tensor not in graph.inputs else None
    return array if array is not None and array.dtype == np.float32 else None


def _store(graph: Graph, name: str, values: NDArray[np.float32], *, replaceable: bool) -> str:
    stored = graph.add_initializer(f"{name}_rounded", values)
    if replaceable:
        value = helper.make_tensor_value_info(stored, TensorProto.FLOAT, values.shape)
        graph.inputs[stored] = value
        graph.model.graph.input.append(value)
        graph.model.ir_version = max(graph.model.ir_version, 4)
    return stored


def store_rounded(graph: Graph) -> int:
    """Store every constant behind a Vitis pair or FixNeuron as the floats that these make of it; how many."""
    count = 0
    for node in graph:
        if (node.domain, node.op_type) not in DEQUANTIZE | FIX_NEURON or node.output[0] in graph.outputs:
            continue
        found = _rounded(graph, node)
        if found is None:
            continue
        name, values = found
        stored = _store(graph, name, values, replaceable=True)
        graph.remove(node)
        graph.replace_uses(node.output[0], stored)
        count += 1
    for node in graph:
        is_read = graph.consumers(node.output[0]) or node.output[0] in graph.outputs
        if (node.domain, node.op_type) in QUANTIZE and not is_read:
            graph.remove(node)
    return count


def is_on_codes(graph: Graph, node: NodeProto) -> bool:
    """Whether onnxruntime computes a Conv, Gemm or MatMul on the codes of its operands, weights in int8 or uint8."""
    x, w = grid_behind(graph, node.input[0]), grid_behind(graph, node.input[1])
    if x is None or w is None or x.axis is not None or not {x.element_type, w.element_type} <= EIGHT_BITS:
        return False
    if x.element_type == TensorProto.INT8 != w.element_type or node.op_type == "ConvTranspose":
        return False
    if has_input(node, 2):
        bias = grid_behind(graph, node.input[2])
        if bias is None or bias.element_type != TensorProto.INT32:
            return False
        if not np.allclose(bias.scale, x.scale * w.scale, rtol=SCALE_TOLERANCE, atol=0):
            return False
    y = grid_of(graph, sole_quantizer(graph, node.output[0]))
    return y is not None and y.element_type == x.element_type and y.axis is None


def may_round(graph: Graph, node: NodeProto) -> bool:
    """Whether sums of the products of power-of-two codes can pass what float32 adds without rounding."""
    limits, x, w = sum_limits(graph, node), grid_behind(graph, node.input[0]), grid_behind(graph, node.input[1])
    if limits is None or x is None or w is None or not (x.is_eight_bit_shift and w.is_eight_bit_shift):
        return False
    bias = constant_values(graph, node.input[2]) if has_input(node, 2) else None
    steps = x.scale.astype(np.float64) * w.scale
    largest = 0.0 if bias is None else float(np.abs(bias.reshape(-1) / steps).max(initial=0.0))
    return float(limits.max(initial=0.0)) + largest > LARGEST


def store_float_weights(graph: Graph) -> int:
    """Store the 8-bit weights of operators that stay float as floats; how many.

    Sums of products of 8-bit power-of-two codes are exact in any order: only beside such codes the weight is packed.
    """
    count = 0
    for node in graph:
        if node.op_type not in PRODUCTS or node.domain not in DEFAULT_DOMAINS:
            continue
        rounds = may_round(graph, node)
        if is_on_codes(graph, node):
            if not rounds:
                continue
            graph.skip(node, "float32 may round its sums, int32 does not")
        dequantizer = graph.producer(node.input[1])
        grid = grid_of(graph, dequantizer)
        codes = (
            graph.array(dequantizer.input[0]) if dequantizer is not None and is_native_dequantize(dequantizer) else None
        )
        if grid is None or codes is None or dequantizer is None:
            continue
        x = grid_behind(graph, node.input[0])
        exact = x is not None and x.is_eight_bit_shift and grid.is_eight_bit_shift and not rounds
        stored = _store(graph, dequantizer.input[0], grid.values(codes), replaceable=not exact)
        graph.set_inputs(node, [node.input[0], stored, *node.input[2:]])
        count += 1
    clear_unread(graph)
    return count
