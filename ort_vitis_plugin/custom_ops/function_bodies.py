"""The meaning of each op as nodes of ONNX's own, specialised by what its uses have in common."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
from onnx import AttributeProto, FunctionProto, TensorProto, helper

from ..errors import UnsupportedError
from .domains import DEQUANTIZE, FIX_NEURON, QUANTIZE
from .function_builder import Body
from .op_usage import Use
from .storage_types import HALF_LIMITS, LONG, RANGES, UNSIGNED


def _parameters(body: Body, use: Use) -> tuple[str, str, str]:
    """Scale and zero point as they broadcast against x, and the shape that aligned them ('' for scalars)."""
    if not use.per_axis:
        return body.scalar("scale"), body.scalar("zero_point") if use.zero_point else "", ""
    shape = body.alignment("x")
    scale = body.call("Reshape", "scale", shape)
    return scale, body.call("Reshape", "zero_point", shape) if use.zero_point else "", shape


def _finish(body: Body, use: Use, result: str) -> None:
    """The function's output; a vector of one scale must not raise the rank of a scalar x."""
    if use.per_axis:
        body.call("Reshape", result, body.call("Shape", "x"), result="y")
    else:
        body.nodes[-1].output[0] = "y"


def _limits(body: Body, use: Use, wide: int) -> tuple[str, str]:
    """The smallest and the largest code of the zero point's type."""
    dtype = helper.tensor_dtype_to_np_dtype(wide)
    if len(use.types) == 1:
        low, high = RANGES[next(iter(use.types))]
        return body.constant(np.array(low, dtype)), body.constant(np.array(high, dtype))
    # Cut to the type's width, the largest of these is its maximum and the least its minimum, whatever the type.
    ends = ((0x80, 0x8000, 0x80000000, 0), (0x7F, 0x7FFF, 0x7FFFFFFF, 0xFFFFFFFF))
    lows, highs = (
        [
            body.cast(body.call("CastLike", body.constant(np.array(end, np.int64)), "zero_point"), wide)
            for end in candidates
        ]
        for candidates in ends
    )
    return body.call("Min", *lows), body.call("Max", *highs)


def _integer_codes(body: Body, use: Use, ratio: str, zero_point: str) -> str:
    """round(clamp(ratio, low - zp, high - zp)) + zp, in float or double; NaN gives low."""
    narrow = len(use.types) == 1 and not use.types & LONG
    wide = TensorProto.FLOAT if narrow else TensorProto.DOUBLE
    dtype = helper.tensor_dtype_to_np_dtype(wide)
    zero = body.cast(zero_point, wide) if zero_point else body.constant(np.array(0, dtype))
    low, high = _limits(body, use, wide)
    value = ratio if narrow else body.cast(ratio, wide)
    value = body.at_least(value, body.call("Sub", low, zero))
    value = body.call("Min", value, body.call("Sub", high, zero))
    return body.call("Add", body.rounded(value, wide), zero)


def _half_values(body: Body, use: Use, ratio: str, zero_point: str) -> str:
    """ratio - (0 - zp), which keeps -0.0 where zp is zero, clamped to what the 16-bit float holds."""
    zero = body.constant(np.array(0, np.float32))
    value = body.call("Sub", ratio, body.call("Sub", zero, body.cast(zero_point, TensorProto.FLOAT)))
    halves = use.types & HALF_LIMITS.keys()
    limit, *rest = [body.constant(HALF_LIMITS[half]) for half in sorted(halves)]
    if rest:  # float16 is the one in which bfloat16's largest value is an infinity
        largest = body.cast(body.call("CastLike", rest[0], "zero_point"), TensorProto.FLOAT)
        limit = body.call("Where", body.call("Greater", largest, rest[0]), limit, rest[0])
    return body.saturated(value, limit)


def _quantize(body: Body, use: Use) -> None:
    """q = saturate(round(x / scale) + zero_point) in the zero point's type."""
    scale, zero_point, _ = _parameters(body, use)
    ratio = body.call("Div", "x", scale)
    halves = use.types & HALF_LIMITS.keys()
    if len(use.types) == 1:
        value = (_half_values if halves else _integer_codes)(body, use, ratio, zero_point)
        _finish(body, use, body.cast(value, next(iter(use.types))))
        return
    value = _integer_codes(body, use, ratio, zero_point) if use.types - halves else ""
    if halves:
        half = body.cast(_half_values(body, use, ratio, zero_point), TensorProto.DOUBLE)
        if value:  # 0.5 is a zero in every integer type
            probe = body.call("CastLike", body.constant(np.array(0.5, np.float32)), "zero_point")
            fraction = body.cast(probe, TensorProto.FLOAT)
            is_integer = body.call("Less", fraction, body.constant(np.array(0.25, np.float32)))
            half = body.call("Where", is_integer, value, half)
        value = half
    _finish(body, use, body.call("CastLike", value, "zero_point"))


def _dequantize(body: Body, use: Use) -> None:
    """y = float(q - zero_point) * scale; one body for all types, through double where 32 bits occur."""
    scale, zero_point, _ = _parameters(body, use)
    wide = TensorProto.DOUBLE if use.types & LONG else TensorProto.FLOAT
    value = body.cast("x", wide)
    if zero_point:
        zero = body.cast(zero_point, wide)
        if use.types & HALF_LIMITS.keys():  # 0 - (0 - zp) turns -0.0 into 0.0, and no optimizer removes it
            nothing = body.constant(np.array(0, helper.tensor_dtype_to_np_dtype(wide)))
            zero = body.call("Sub", nothing, body.call("Sub", nothing, zero))
        value = body.call("Sub", value, zero)
    if wide == TensorProto.DOUBLE:
        value = body.cast(value, TensorProto.FLOAT)
    _finish(body, use, body.call("Mul", value, scale))


def _fix_neuron_limits(body: Body, use: Use, wide: int) -> tuple[str, str]:
    """The code range of bit_width bits, signed as the zero point's type is."""
    dtype = helper.tensor_dtype_to_np_dtype(wide)
    one = body.constant(np.array(1, dtype))
    if len(use.bit_widths) == 1:
        codes = body.constant(np.array(2.0 ** next(iter(use.bit_widths)), dtype))
    else:
        width = body.cast(body.attribute("bit_width", AttributeProto.STRING), wide)
        codes = body.call("Pow", body.constant(np.array(2, dtype)), width)
    half = body.call("Mul", codes, body.constant(np.array(0.5, dtype)))
    nothing = body.constant(np.array(0, dtype))
    if use.mixed:
        minus_one = body.cast(body.call("CastLike", body.constant(np.array(-1, np.int64)), "zero_point"), wide)
        offset = body.call("Where", body.call("Less", minus_one, nothing), half, nothing)
    else:
        offset = nothing if use.types <= UNSIGNED else half
    return body.call("Sub", nothing, offset), body.call("Sub", body.call("Sub", codes, offset), one)


def _fix_neuron(body: Body, use: Use) -> None:
    """y = clamp(round(x / scale), low - zp, high - zp) * scale."""
    scale, zero_point, _ = _parameters(body, use)
    narrow = not use.types & LONG and max(use.bit_widths) <= 16
    wide = TensorProto.FLOAT if narrow else TensorProto.DOUBLE
    low, high = _fix_neuron_limits(body, use, wide)
    if zero_point:
        zero = body.cast(zero_point, wide)
        low, high = body.call("Sub", low, zero), body.call("Sub", high, zero)
    ratio = body.call("Div", "x", scale)
    value = body.at_least(ratio if narrow else body.cast(ratio, wide), low)
    value = body.rounded(body.call("Min", value, high), wide)
    if not narrow:
        value = body.cast(value, TensorProto.FLOAT)
    _finish(body, use, body.call("Mul", value, scale))


def _native(body: Body, use: Use) -> None:
    """The same by ORT's own 8-bit ops."""
    inputs = ["scale", "zero_point"] if use.zero_point else ["scale"]
    key = (use.domain, use.op_type)
    if key in FIX_NEURON and not use.zero_point:  # ONNX would take uint8
        inputs.append(body.cast(body.call("Sub", "scale", "scale"), TensorProto.INT8))
    steps = [step for step, ops in (("QuantizeLinear", DEQUANTIZE), ("DequantizeLinear", QUANTIZE)) if key not in ops]
    value = "x"
    for step in steps:
        value = body.call(step, value, *inputs)
        if use.per_axis:
            body.refer("axis", "axis", AttributeProto.INT)
    body.nodes[-1].output[0] = "y"


def function_body(use: Use, opset: int) -> FunctionProto:
    """The function for the nodes of ``use`` in a model of ``opset``.

    Raises:
        UnsupportedError: the operation needs a newer opset.
    """
    if opset < use.opset:
        raise UnsupportedError(
            f"{use.domain}:{use.op_type} as this model uses it needs opset {use.opset} or newer of the default domain "
            f"and the model has {opset}; raise it with onnx.version_converter.convert_version(model, {use.opset})"
        )
    body = Body(opset)
    key = (use.domain, use.op_type)
    if use.native:
        _native(body, use)
    elif key in QUANTIZE:
        _quantize(body, use)
    elif key in DEQUANTIZE:
        _dequantize(body, use)
    else:
        _fix_neuron(body, use)
    inputs = ["x", "scale", "zero_point"] if use.zero_point else ["x", "scale"]
    imports = [helper.make_opsetid("", opset)]
    return helper.make_function(use.domain, use.op_type, inputs, ["y"], body.nodes, imports, use.attributes)
