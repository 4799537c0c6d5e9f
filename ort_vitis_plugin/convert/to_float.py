"""Quantization undone: pairs and FixNeurons go, quantized constants become floats again."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, helper

from ort_vitis_plugin import custom_ops
from ort_vitis_plugin.custom_ops.put_functions import drop_unused_domains
from ort_vitis_plugin.custom_ops.qdq_nodes import is_block_pair, is_dequantize, is_fix_neuron, is_quantize
from ort_vitis_plugin.emission import clip_metadata, provenance
from ort_vitis_plugin.foreign import public
from ort_vitis_plugin.graph import Graph, attribute, has_input
from ort_vitis_plugin.graph.clip_limits import clip_limits
from ort_vitis_plugin.graph.op_sets import MOVES
from ort_vitis_plugin.plugin.op_functions import define_ops

from .opened_graph import opened_graph
from .skipped_subgraphs import skip_bodies

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import ModelProto, NodeProto

    from ort_vitis_plugin.emission.clip_metadata import Limits
    from ort_vitis_plugin.graph import Skip

_NON_NEGATIVE = frozenset(
    {"Abs", "Exp", "HardSigmoid", "ReduceL1", "ReduceL2", "ReduceSumSquare", "Relu", "Sigmoid", "Softmax"}
    | {"Softplus", "Sqrt"}
)
_OF_THEIR_FIRST_INPUT = (
    MOVES
    | {"AveragePool", "DepthToSpace", "Dropout", "GlobalAveragePool", "GlobalMaxPool", "MaxPool"}
    | {"ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum", "SpaceToDepth", "TopK"}
)
_OF_ALL_INPUTS = frozenset({"Add", "Concat", "Max", "Mean", "Min", "Mul", "Sum"})
_SIX = 6.0  # what Relu6 ends at; a range that ends exactly there was cut there


def _range(graph: Graph, node: NodeProto) -> Limits:
    """The numbers at the ends of the codes of a quantizer or FixNeuron; a lower end of 0 only where that is exact."""
    zero: NDArray[Any] | None = np.zeros((), np.uint8 if is_quantize(node) else np.int8)
    if has_input(node, 2):
        zero = graph.array(node.input[2])
    scale = graph.array(node.input[1])
    if zero is None or scale is None or zero.dtype.kind not in "iu":
        return None, None
    signed = zero.dtype.kind == "i"
    bits = custom_ops.bit_width_of(node) if is_fix_neuron(node) else 8 * zero.dtype.itemsize
    low = -(2 ** (bits - 1)) if signed else 0
    if not (zero == low).all():
        return None, None
    ends = np.unique(scale.astype(np.float64) * (2**bits - 1))
    return 0.0, float(ends[0]) if ends.size == 1 else None


def _is_non_negative(graph: Graph, tensor: str) -> bool:
    """Whether the float network cannot put anything below zero there."""
    waiting, seen = [tensor], set()
    while waiting:
        name = waiting.pop()
        node = graph.producer(name)
        array = graph.array(name)
        if name in seen or (array is not None and bool((array >= 0).all())):
            continue
        seen.add(name)
        if node is None:
            return False
        if is_block_pair(node):
            waiting.append(node.input[0])
        elif is_dequantize(node) or is_fix_neuron(node):
            if _range(graph, node)[0] != 0.0:
                waiting.append(node.input[0])
        elif node.op_type == "Clip":
            low, _ = clip_limits(graph, node)
            if low is None or not low >= 0:
                return False
        elif is_quantize(node) or node.op_type in _OF_THEIR_FIRST_INPUT:
            waiting.append(node.input[0])
        elif node.op_type in _OF_ALL_INPUTS:
            waiting.extend(node.input)
        elif node.op_type not in _NON_NEGATIVE:
            return False
    return True


def _clamps(graph: Graph) -> dict[str, Limits]:
    """The clamps that saturation stands for: as our writer stated them, or as the ranges of another's codes say.

    Codes that begin at zero cut negatives off, as a Relu does: writers drop one there. Where nothing negative can come
    none was. Codes that end at six are those of a Relu6.
    """
    stated = clip_metadata.kept(graph.model)
    if stated is not None:
        return {tensor: limits for tensor, limits in stated.items() if graph.producer(tensor) is not None}
    found: dict[str, Limits] = {}
    for node in graph:
        if not (is_quantize(node) or is_fix_neuron(node)):
            continue
        source = node.input[0]
        low, high = _range(graph, node)
        if low is None or graph.producer(source) is None or _is_non_negative(graph, source):
            continue
        found[source] = low, _SIX if high is not None and abs(high - _SIX) <= 1e-6 * _SIX else None
    return found


def _clamp(graph: Graph, tensor: str, limits: Limits) -> None:
    """Put a Relu or Clip back behind a tensor."""
    low, high = limits
    op_type = "Relu" if (low, high) == (0.0, None) else "Clip"
    output = graph.unique(f"{tensor}_{op_type}_Output")
    inputs, attributes = [tensor], {}
    if op_type == "Clip" and graph.opset < 11:
        attributes = {key: value for key, value in (("min", low), ("max", high)) if value is not None}
    elif op_type == "Clip":
        dtype = helper.tensor_dtype_to_np_dtype(graph.element_type(tensor) or TensorProto.FLOAT)
        for key, value in (("min", low), ("max", high)):
            inputs.append("" if value is None else graph.add_initializer(f"{output}_{key}", np.array(value, dtype)))
    graph.replace_uses(tensor, output)
    graph.make(op_type, inputs, [output], f"{tensor}_{op_type}", **attributes)


def _pass_on(graph: Graph, node: NodeProto) -> None:
    """Let the readers of a node read its first input; a graph output that would be a graph input stays by Identity."""
    if not graph.bypass(node):
        source, target = node.input[0], node.output[0]
        graph.remove(node)
        graph.make("Identity", [source], [target])


def _fold_constant(graph: Graph, node: NodeProto) -> bool:
    """Codes that are constant become a float initializer under the name of the dequantized tensor."""
    codes, scale = graph.array(node.input[0]), graph.array(node.input[1])
    given = has_input(node, 2)
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


@public
def quantized_to_float(model: ModelProto, skips: list[Skip] | None = None) -> ModelProto:
    """The model without its quantize/dequantize pairs, FixNeurons and block pairs; constants are float again.

    A Relu or Clip that saturation stands for comes back. Values that quantization rounded stay rounded where the model
    holds nothing but their codes. ``model`` stays as it is; ``skips`` gets what stays quantized and why.
    """
    graph = opened_graph(model, "quantized_to_float")
    for tensor, limits in _clamps(graph).items():
        _clamp(graph, tensor, limits)
    for node in graph:
        if is_fix_neuron(node) or is_block_pair(node):
            _pass_on(graph, node)
        elif is_dequantize(node):
            producer = graph.producer(node.input[0])
            if producer is not None and is_quantize(producer):
                graph.set_inputs(node, [producer.input[0]])
                _pass_on(graph, node)
            elif not _fold_constant(graph, node):
                graph.skip(node, "its codes are neither constant nor made by a quantizer")
    for node in graph:
        if is_quantize(node) and not graph.consumers(node.output[0]) and node.output[0] not in graph.outputs:
            graph.remove(node)
        elif node.op_type.startswith(("QLinear", "QGemm", "ConvInteger", "MatMulInteger")):
            graph.skip(node, f"{node.op_type} computes on codes; only pairs and FixNeurons are undone")
    skip_bodies(graph, lambda node: is_dequantize(node) or is_fix_neuron(node) or is_block_pair(node))
    result = graph.to_model()
    clip_metadata.forget(result)
    provenance.forget_facts(result)
    define_ops(result)
    drop_unused_domains(result)
    if skips is not None:
        skips.extend(graph.skips)
    return result
