"""quantize(): Conv and MatMul nodes become ConvInteger and MatMulInteger, or their QLinear forms."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import onnx
from onnx import ModelProto, TensorProto
from onnxruntime.quantization import QuantizationMode, QuantType

from ..errors import ModelError, OptionError, OptionTypeError, UnsupportedError
from ..foreign import public
from ..graph.default_opset import default_opset
from ..options.options import OptionWarning
from .arguments import check_node_names, deprecated, given_parameters
from .quantizer import LegacyQuantizer

__all__ = ["QuantizationMode", "quantize"]

OLDEST_OPSET = 11  # Round, and DynamicQuantizeLinear, which "force_fusions" emits


def _prepared(model: ModelProto) -> ModelProto:
    """A copy at opset 11 or later, with shapes, constants as initializers, and no bias shared by two nodes."""
    opset = default_opset(model, 0)
    if not opset:
        raise ModelError("the model imports no opset of the ONNX domain, so there is nothing to quantize in it")
    copy = ModelProto()
    copy.CopyFrom(model)
    if opset < OLDEST_OPSET:
        copy = onnx.version_converter.convert_version(copy, OLDEST_OPSET)
    graph = copy.graph
    for node in [node for node in graph.node if node.op_type == "Constant" and node.attribute[0].name == "value"]:
        graph.initializer.add().CopyFrom(node.attribute[0].t)
        graph.initializer[-1].name = node.output[0]
        graph.node.remove(node)
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    uses = Counter(name for node in graph.node for name in node.input)
    for number, node in enumerate(graph.node):
        if node.op_type == "Conv" and len(node.input) == 3 and node.input[2] in tensors and uses[node.input[2]] > 1:
            own = TensorProto()
            own.CopyFrom(tensors[node.input[2]])
            own.name = node.input[2] = f"{node.input[2]}_of_node_{number}"
            graph.initializer.append(own)
    return onnx.shape_inference.infer_shapes(copy)


@public
def quantize(
    model: ModelProto,
    per_channel: bool = False,
    nbits: int = 8,
    quantization_mode: QuantizationMode = QuantizationMode.IntegerOps,
    static: bool = False,
    asymmetric_input_types: bool = False,
    force_fusions: bool = False,
    quantization_params: Mapping[str, Sequence[Any]] | None = None,
    nodes_to_quantize: Sequence[str] | None = None,
) -> ModelProto:
    """A copy of ``model`` with its Conv and MatMul nodes in ConvInteger and MatMulInteger, or in their QLinear forms.

    ``quantization_params`` maps tensors to ``[zero_point, scale]``: inputs of the nodes if ``static``, outputs in mode
    QLinearOps; a node that lacks one stays float. ``asymmetric_input_types`` makes weights int8 instead of uint8.
    ``force_fusions`` writes dynamic quantization as one DynamicQuantizeLinear instead of single steps.

    Raises:
        OptionTypeError: an argument has a wrong type.
        OptionError: parameters are missing that the mode needs.
        UnsupportedError: another number of bits than 8 is asked for.
    """
    if not isinstance(model, ModelProto):
        raise OptionTypeError(f"quantize() takes a ModelProto, not {type(model).__name__}; use onnx.load(path)")
    if nbits != 8:
        raise UnsupportedError(
            f"nbits={nbits!r} is not supported, only 8; 4 and 16 bits are activation_type and weight_type of "
            "ort_vitis_plugin.quantize_static"
        )
    if not isinstance(quantization_mode, QuantizationMode):
        raise OptionTypeError(f"quantization_mode takes a member of QuantizationMode, not {quantization_mode!r}")
    linear = quantization_mode == QuantizationMode.QLinearOps
    if (static or linear) and not quantization_params:
        raise OptionError(
            f"quantization_mode={quantization_mode}, static={static} needs quantization_params; calibrate() gives them"
        )
    if linear:
        deprecated("quantize()", "ort_vitis_plugin.quantize_static(..., quant_format=QuantFormat.QOperator)")
    else:
        deprecated("quantize()", "ort_vitis_plugin.quantize_dynamic(model_input, model_output)")
    prepared = _prepared(model)
    check_node_names(nodes_to_quantize or (), "nodes_to_quantize", prepared)
    quantizer = LegacyQuantizer(
        prepared,
        given_parameters(quantization_params, prepared),
        mode=quantization_mode,
        static=static,
        per_channel=per_channel,
        weight_type=QuantType.QInt8 if asymmetric_input_types else QuantType.QUInt8,
        fused=force_fusions,
        nodes_to_quantize=nodes_to_quantize or (),
    )
    _report_float_nodes(quantizer)
    quantizer.quantize_model()
    quantizer.model.topological_sort()
    result: ModelProto = quantizer.model.model
    return result


def _report_float_nodes(quantizer: LegacyQuantizer) -> None:
    """One warning for nodes that stay float for want of parameters; an error if all of them do."""
    wanted = [node for node in quantizer.model.nodes() if quantizer.is_selected(node)]
    lacking = {node.name or node.output[0]: missing for node in wanted if (missing := quantizer.missing(node))}
    if not lacking:
        return
    listed = "; ".join(f"{node}: {', '.join(tensors)}" for node, tensors in lacking.items())
    if len(lacking) == len(wanted):
        raise OptionError(f"no node can be quantized, for quantization_params lacks {listed}; calibrate() gives them")
    warnings.warn(f"these nodes stay float, for quantization_params lacks {listed}", OptionWarning, stacklevel=4)
