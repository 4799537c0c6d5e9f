"""Models of old opsets are raised by onnx's version converter, and what it forgets is put right.

Before opset 11 Upsample and Resize had one way to map coordinates, x / scale, and nearest meant downwards where an
axis grows and upwards where it shrinks. Since then these are attributes, which the converter leaves at today's
defaults.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper, version_converter

from ort_vitis_plugin.api import (
    AXIS_OPSET,
    DEFAULT_DOMAINS,
    WIDE_OPSET,
    CallOptions,
    Context,
    ModelError,
    ModelTransform,
    OrtOptions,
    QType,
    QuantFormat,
    attribute,
    check_model,
    default_opset,
    externalize,
    internalized,
    qtype,
    subgraphs,
)

# QuantizeLinear exists since 10; optional inputs of Clip and Pad and the attributes of Resize are today's since 11.
# QuantizeLinear takes float16 since 19.
MINIMUM_OPSET, PREFERRED_OPSET, FLOAT16_OPSET = 10, 11, 19


def _graphs(graph: GraphProto) -> Iterator[GraphProto]:
    yield graph
    for node in graph.node:
        for body in subgraphs(node):
            yield from _graphs(body)


def _has_default_operators(model: ModelProto) -> bool:
    """Whether the default operator set is stated, or a node is of it."""
    nodes = (node for graph in _graphs(model.graph) for node in graph.node)
    return any(each.domain in DEFAULT_DOMAINS for each in (*model.opset_import, *nodes))


def _constants(graph: GraphProto) -> dict[str, onnx.TensorProto]:
    found = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        value = attribute(node, "value") if node.op_type == "Constant" else None
        if value is not None:
            found[node.output[0]] = value
    return found


def _nearest_mode(node: NodeProto, scales: onnx.TensorProto | None) -> str:
    factors = np.ones(1) if scales is None else numpy_helper.to_array(scales)
    if (factors < 1).any() and (factors > 1).any():
        raise ModelError(
            f"{node.name or node.output[0]} (Resize before opset 11, nearest) enlarges one axis and shrinks another, "
            "which one Resize of opset 11 cannot do; resize one axis after the other or export with opset 11 or later"
        )
    return "ceil" if (factors < 1).any() else "floor"


def _keep_meaning(graph: GraphProto) -> None:
    constants: dict[str, onnx.TensorProto] | None = None
    for node in graph.node:
        if node.op_type != "Resize" or node.domain not in DEFAULT_DOMAINS:
            continue
        if constants is None:
            constants = _constants(graph)
        node.attribute.append(helper.make_attribute("coordinate_transformation_mode", "asymmetric"))
        if attribute(node, "mode", b"nearest") == b"nearest":
            mode = _nearest_mode(node, constants.get(node.input[2]) if len(node.input) > 2 else None)
            node.attribute.append(helper.make_attribute("nearest_mode", mode))


def raise_opset(model: ModelProto, needed: int = PREFERRED_OPSET) -> ModelProto:
    """The model at ``needed`` or a later opset; the same object where it is there already.

    A model of opset 10 that the converter does not take stays as it is, unless more is needed.

    Raises:
        ModelError: onnx cannot convert the model.
    """
    opset = default_opset(model)
    if opset >= needed:
        return model
    if not _has_default_operators(model):
        newer = ModelProto()
        newer.CopyFrom(model)
        newer.opset_import.append(helper.make_opsetid("", needed))
        return newer
    if model.ir_version < 4:
        # Up to IR 3 every initializer had to be an input; the converter adds initializers of its own.
        newer = ModelProto()
        newer.CopyFrom(model)
        newer.ir_version, model = 4, newer
    try:
        raised = version_converter.convert_version(internalized(model), needed)
        if opset < PREFERRED_OPSET:
            for graph in _graphs(raised.graph):
                _keep_meaning(graph)
        check_model(raised)
    except ModelError:
        raise
    except Exception as error:  # the converter raises RuntimeError, ValueError, its own ConvertError...
        if opset >= MINIMUM_OPSET and needed <= PREFERRED_OPSET:
            return model
        raise ModelError(
            f"the model is of opset {opset} and cannot be raised to {needed} ({error}); export it again with opset "
            f"{max(needed, 13)} or later"
        ) from error
    return externalize(raised)


def _has_float16(model: ModelProto) -> bool:
    kinds = {tensor.data_type for tensor in model.graph.initializer}
    kinds |= {value.type.tensor_type.elem_type for value in (*model.graph.input, *model.graph.value_info)}
    return TensorProto.FLOAT16 in kinds


def _needed(model: ModelProto, context: Context) -> int:
    overrides = context.options[OrtOptions].tensor_quant_overrides or {}
    per_channel = context.request.per_channel or any(
        "axis" in entry for listed in overrides.values() for entry in listed
    )
    of_format = int(context.format.writer.opset_for(context.kinds))
    if context.options[OrtOptions].block_size:
        of_format = max(of_format, WIDE_OPSET)
    needed = max(AXIS_OPSET if per_channel else PREFERRED_OPSET, of_format)
    if context.options[CallOptions].weight_only:
        needed = max(needed, WIDE_OPSET)
    stays_half = _has_float16(model) and not context.options[CallOptions].convert_fp16_to_fp32
    return max(needed, FLOAT16_OPSET) if stays_half else needed


def _kinds(context: Context) -> Iterator[QType]:
    """The types of activations and weights, and those that the caller states of single tensors."""
    yield from (context.activation, context.weight)
    for listed in (context.options[OrtOptions].tensor_quant_overrides or {}).values():
        for entry in listed:
            yield from (
                qtype(each["quant_type"]) for each in (entry, entry.get("convert") or {}) if "quant_type" in each
            )


def _has_native_16_bits(context: Context) -> bool:
    """Whether 16-bit pairs are to be ONNX's own, of opset 21: onnxruntime 1.32 raises models for them too."""
    asked = context.options[OrtOptions]
    if context.format.key != QuantFormat.QDQ or context.target.keeps_opset or asked.use_qdq_contrib_ops:
        return False
    return any(kind.is_integer and kind.bits == 16 for kind in _kinds(context))


def raise_for(model: ModelProto, context: Context) -> ModelProto:
    """Raise the model to what the request needs."""
    needed = _needed(model, context)
    if needed < WIDE_OPSET and _has_native_16_bits(context):
        try:
            return raise_opset(model, WIDE_OPSET)
        except ModelError as error:
            context.note(f"16-bit pairs are com.microsoft's: {error}")
    return raise_opset(model, needed)


RAISE_OPSET = ModelTransform(
    "RaiseOpset",
    f"Raise models below opset {PREFERRED_OPSET} to it ({AXIS_OPSET} for per-channel), their meaning kept.",
    raise_for,
)
