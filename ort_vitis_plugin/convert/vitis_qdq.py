"""Vitis quantize/dequantize nodes and FixNeurons become ONNX's own ops where these have the type, and back."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto, helper

from ort_vitis_plugin.custom_ops.domains import DEQUANTIZE, FIX_NEURON, QUANTIZE, VAI_DOMAIN
from ort_vitis_plugin.custom_ops.functions import add_functions
from ort_vitis_plugin.custom_ops.op_usage import bit_width_of
from ort_vitis_plugin.custom_ops.put_functions import drop_unused_domains
from ort_vitis_plugin.custom_ops.qdq_nodes import is_native
from ort_vitis_plugin.foreign import public
from ort_vitis_plugin.graph import Graph, attribute, has_input
from ort_vitis_plugin.graph.element_types import EIGHT_BITS, SIXTEEN_BITS
from ort_vitis_plugin.graph.opsets import AXIS_OPSET, WIDE_OPSET

from .opened_graph import opened_graph
from .skipped_subgraphs import skip_blocks, skip_bodies

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

    from ort_vitis_plugin.graph import Skip


def _has_zero_point(node: NodeProto) -> bool:
    return has_input(node, 2)


def code_type(graph: Graph, node: NodeProto, *, quantizes: bool) -> int:
    """Element type of a node's codes, 0 where the model does not say it."""
    if _has_zero_point(node):
        return graph.element_type(node.input[2])
    if quantizes:
        return int(attribute(node, "output_dtype", 0)) or TensorProto.UINT8
    producer = graph.producer(node.input[0])
    if producer is not None and producer.op_type.endswith("QuantizeLinear"):
        return code_type(graph, producer, quantizes=True)
    return graph.element_type(node.input[0])


def _type_name(element_type: int) -> str:
    return TensorProto.DataType.Name(element_type).lower() if element_type else "a type that the model does not state"


def _is_per_axis(graph: Graph, node: NodeProto) -> bool:
    shape = graph.static_shape(node.input[1])
    return shape is None or int(np.prod(shape)) != 1


def _is_plain_bias(graph: Graph, node: NodeProto) -> bool:
    """int32 codes without a zero point, which ONNX dequantizes too."""
    zero = graph.array(node.input[2]) if _has_zero_point(node) else np.zeros(())
    return graph.array(node.input[0]) is not None and zero is not None and not zero.any()


def _refusal_by_standard(graph: Graph, node: NodeProto, *, quantizes: bool) -> str:
    """Why ONNX's own op cannot replace the node; '' if it can."""
    kind = code_type(graph, node, quantizes=quantizes)
    if _is_per_axis(graph, node) and graph.opset < AXIS_OPSET:
        return f"a scale per channel needs opset {AXIS_OPSET}; the model has {graph.opset}"
    if kind in SIXTEEN_BITS and graph.opset < WIDE_OPSET:
        return f"{_type_name(kind)} needs opset {WIDE_OPSET}; the model has {graph.opset}"
    if kind in EIGHT_BITS | SIXTEEN_BITS:
        return ""
    if not quantizes and kind == TensorProto.INT32 and _is_plain_bias(graph, node):
        return ""
    return f"QuantizeLinear has no {_type_name(kind)}"


def _rename(node: NodeProto, op_type: str, domain: str) -> None:
    """Another op with the same inputs; of the attributes only axis stays."""
    axis = [entry for entry in node.attribute if entry.name == "axis"]
    node.op_type, node.domain = op_type, domain
    del node.attribute[:]
    node.attribute.extend(axis)


def _split_fix_neuron(graph: Graph, node: NodeProto) -> str:
    """FixNeuron -> QuantizeLinear, DequantizeLinear; returns why not, or ''."""
    kind = code_type(graph, node, quantizes=True) if _has_zero_point(node) else TensorProto.INT8
    if bit_width_of(node) != 8 or kind not in EIGHT_BITS:
        return f"{bit_width_of(node)} bits of {_type_name(kind)}; QuantizeLinear has 8 bits"
    if _is_per_axis(graph, node) and graph.opset < AXIS_OPSET:
        return f"a scale per channel needs opset {AXIS_OPSET}; the model has {graph.opset}"
    parameters = list(node.input[1:3])
    if not _has_zero_point(node):
        size = graph.static_shape(node.input[1])
        if size is None:
            return "it has neither a zero point nor a scale of known shape"
        parameters = [node.input[1], graph.add_initializer(f"{node.output[0]}_zero_point", np.zeros(size, np.int8))]
    axis = {"axis": attribute(node, "axis", 1)} if _is_per_axis(graph, node) else {}
    graph.remove(node)
    codes = graph.unique(f"{node.input[0]}_QuantizeLinear_Output")
    graph.make("QuantizeLinear", [node.input[0], *parameters], [codes], f"{node.input[0]}_QuantizeLinear", **axis)
    graph.make("DequantizeLinear", [codes, *parameters], [node.output[0]], node.name, **axis)
    return ""


def finished(graph: Graph, skips: list[Skip] | None) -> ModelProto:
    """The model with the functions and domains that its Vitis nodes need, and no others."""
    model = graph.to_model()
    add_functions(model)
    drop_unused_domains(model)
    if skips is not None:
        skips.extend(graph.skips)
    return model


def standardize(graph: Graph, node: NodeProto) -> str | None:
    """ONNX's own ops for a Vitis node or FixNeuron; why not, '' where they took its place, None for other nodes."""
    key = (node.domain, node.op_type)
    if key in FIX_NEURON:
        return _split_fix_neuron(graph, node)
    if key not in QUANTIZE and key not in DEQUANTIZE:
        return None
    refusal = _refusal_by_standard(graph, node, quantizes=key in QUANTIZE)
    if not refusal:
        _rename(node, "QuantizeLinear" if key in QUANTIZE else "DequantizeLinear", "")
    return refusal


@public
def vitis_to_standard(model: ModelProto, skips: list[Skip] | None = None) -> ModelProto:
    """Vitis (or Quark's, or ai.onnx.contrib's) Q and DQ of 8 bits, of 16 from opset 21, and 8-bit FixNeurons as ONNX's.

    Results stay the same bit for bit. ``model`` stays as it is; ``skips`` gets what could not change and why.
    """
    graph = opened_graph(model, "vitis_to_standard")
    for node in graph:
        refusal = standardize(graph, node)
        if refusal:
            graph.skip(node, refusal)
    skip_blocks(graph)
    skip_bodies(graph, lambda node: (node.domain, node.op_type) in FIX_NEURON | QUANTIZE | DEQUANTIZE)
    return finished(graph, skips)


def _refusal_by_vitis(graph: Graph, node: NodeProto, *, quantizes: bool) -> str:
    """Why a Vitis op cannot replace the node; '' if it can."""
    kind = code_type(graph, node, quantizes=quantizes)
    if attribute(node, "block_size", 0):
        return "its scale is per block"
    if graph.element_type(node.input[1]) not in (0, TensorProto.FLOAT):
        return f"its scale is {_type_name(graph.element_type(node.input[1]))}"
    if kind in EIGHT_BITS | SIXTEEN_BITS or (kind == TensorProto.INT32 and not quantizes):
        return ""
    return f"its codes are {_type_name(kind)}"


def _is_pair_half(node: NodeProto) -> bool:
    return is_native(node, "QuantizeLinear") or is_native(node, "DequantizeLinear")


@public
def standard_to_vitis(model: ModelProto, skips: list[Skip] | None = None) -> ModelProto:
    """ONNX's (or com.microsoft's) Q and DQ of 8 and 16 bits, and int32 biases, as Vitis ones, with their functions.

    ``model`` stays as it is; ``skips`` gets what could not change and why.
    """
    graph = opened_graph(model, "standard_to_vitis")
    for node in graph:
        quantizes = node.op_type == "QuantizeLinear"
        if not _is_pair_half(node):
            continue
        refusal = _refusal_by_vitis(graph, node, quantizes=quantizes)
        if refusal:
            graph.skip(node, refusal)
            continue
        kind = code_type(graph, node, quantizes=quantizes)
        if quantizes and not _has_zero_point(node) and kind != TensorProto.UINT8:
            shape = graph.static_shape(node.input[1])
            if shape is None:
                graph.skip(node, "it has neither a zero point nor a scale of known shape")
                continue
            zeros = np.zeros(shape, helper.tensor_dtype_to_np_dtype(kind))
            name = graph.add_initializer(f"{node.output[0]}_zero_point", zeros)
            graph.set_inputs(node, [*node.input[:2], name])
        _rename(node, "VitisQuantizeLinear" if quantizes else "VitisDequantizeLinear", VAI_DOMAIN)
    skip_blocks(graph)
    skip_bodies(graph, _is_pair_half)
    return finished(graph, skips)
