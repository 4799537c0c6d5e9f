"""The ops as onnx sees them: schemas with type and shape inference, and kernels of the reference evaluator."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx.defs import OpSchema
from onnx.reference.op_run import OpRun

from ort_vitis_plugin.custom_ops.domains import CONTRIB_DOMAIN, QUARK_DOMAIN, VAI_DOMAIN
from ort_vitis_plugin.custom_ops.numpy_reference import dequantize_linear, fix_neuron, quantize_linear

_INTEGERS = [f"tensor({name})" for name in ("uint8", "int8", "uint16", "int16", "uint32", "int32")]
_STORAGE = [*_INTEGERS, "tensor(float16)", "tensor(bfloat16)"]
_Parameter = OpSchema.FormalParameter


def _infer_like_input(context: Any, element_type: int) -> None:
    """Output 0 has the shape of input 0."""
    output = onnx.TypeProto()
    output.tensor_type.elem_type = element_type
    source = context.get_input_type(0)
    if source is not None and source.tensor_type.HasField("shape"):
        output.tensor_type.shape.CopyFrom(source.tensor_type.shape)
    context.set_output_type(0, output)


def _infer_quantize(context: Any) -> None:
    zero_point = context.get_input_type(2) if context.get_num_inputs() > 2 else None
    known = zero_point.tensor_type.elem_type if zero_point is not None else 0
    _infer_like_input(context, known or onnx.TensorProto.UINT8)


def _infer_float(context: Any) -> None:
    _infer_like_input(context, onnx.TensorProto.FLOAT)


def _schema(name: str, domain: str, infer: Any, x: str, y: str, storage: list[str], attributes: list[Any]) -> OpSchema:
    optional = OpSchema.FormalParameterOption.Optional
    schema = OpSchema(
        name,
        domain,
        1,
        doc=infer.__doc__ or "",
        inputs=[
            _Parameter("x", x),
            _Parameter("scale", "tensor(float)"),
            _Parameter("zero_point", "T", param_option=optional),
        ],
        outputs=[_Parameter("y", y)],
        type_constraints=[("T", storage, "type of the codes")],
        attributes=attributes,
    )
    if hasattr(schema, "set_type_and_shape_inference_function"):  # onnx 1.17 and later
        schema.set_type_and_shape_inference_function(infer)
    return schema


def _schemas() -> list[OpSchema]:
    integer, text = OpSchema.AttrType.INT, OpSchema.AttrType.STRING
    axis = OpSchema.Attribute("axis", integer, "axis of a vector of scales, 1 by default", required=False)
    result = []
    for domain, prefix in ((VAI_DOMAIN, "Vitis"), (QUARK_DOMAIN, "Extended")):
        result.append(
            _schema(f"{prefix}QuantizeLinear", domain, _infer_quantize, "tensor(float)", "T", _STORAGE, [axis])
        )
        result.append(
            _schema(f"{prefix}DequantizeLinear", domain, _infer_float, "T", "tensor(float)", _STORAGE, [axis])
        )
    # An attribute of a schema has one type. The kernels take an int too, and add_functions writes it as text.
    described = [
        OpSchema.Attribute("bit_width", text, "number of bits as text, '8' by default", required=False),
        OpSchema.Attribute("pos", text, "fix position of the scale, for readers", required=False),
        axis,
    ]
    result.append(
        _schema("FixNeuron", VAI_DOMAIN, _infer_float, "tensor(float)", "tensor(float)", _INTEGERS, described)
    )
    return result


def register_schemas() -> None:
    """Teach onnx.checker (``check_custom_domain``) and onnx.shape_inference the ops; a second call does nothing."""
    for schema in _schemas():
        if not onnx.defs.has(schema.name, schema.domain):
            onnx.defs.register_schema(schema)


class _Quantize(OpRun):
    def _run(self, x: Any, scale: Any, zero_point: Any = None, axis: int | None = None, **_: Any) -> tuple[Any]:
        return (quantize_linear(x, scale, zero_point, 1 if axis is None else axis),)


class _Dequantize(OpRun):
    def _run(self, x: Any, scale: Any, zero_point: Any = None, axis: int | None = None, **_: Any) -> tuple[Any]:
        return (dequantize_linear(x, scale, zero_point, 1 if axis is None else axis),)


class _FixNeuron(OpRun):
    def _run(
        self,
        x: Any,
        scale: Any,
        zero_point: Any = None,
        bit_width: int | str | None = None,
        axis: int | None = None,
        **_: Any,
    ) -> tuple[Any]:
        width = 8 if bit_width is None else int(bit_width)
        return (np.asarray(fix_neuron(x, scale, zero_point, width, 1 if axis is None else axis)),)


_KERNELS: tuple[tuple[str, str, type[OpRun]], ...] = (
    (VAI_DOMAIN, "VitisQuantizeLinear", _Quantize),
    (VAI_DOMAIN, "VitisDequantizeLinear", _Dequantize),
    (VAI_DOMAIN, "FixNeuron", _FixNeuron),
    (QUARK_DOMAIN, "ExtendedQuantizeLinear", _Quantize),
    (QUARK_DOMAIN, "ExtendedDequantizeLinear", _Dequantize),
    (CONTRIB_DOMAIN, "QuantizeLinear", _Quantize),
    (CONTRIB_DOMAIN, "DequantizeLinear", _Dequantize),
    (CONTRIB_DOMAIN, "FixNeuron", _FixNeuron),
)


def reference_ops() -> list[type[OpRun]]:
    """``onnx.reference.ReferenceEvaluator(model, new_ops=reference_ops())`` runs the ops without any function."""
    return [type(name, (kernel,), {"op_domain": domain}) for domain, name, kernel in _KERNELS]
