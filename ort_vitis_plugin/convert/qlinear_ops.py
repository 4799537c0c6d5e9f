"""The operators that onnxruntime's CPU runs on 8-bit codes, as written for one float operator between pairs.

y = quantize(op(dequantize(x), ...)) becomes one node where a kernel for the types exists.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto

from ort_vitis_plugin.graph import attribute
from ort_vitis_plugin.graph.element_types import EIGHT_BITS
from ort_vitis_plugin.graph.nodes import MICROSOFT
from ort_vitis_plugin.graph.op_sets import MOVES
from ort_vitis_plugin.numerics.qtypes import host_qtype
from ort_vitis_plugin.numerics.quantize import dequantize, quantize

from .qlinear_site import NO_BIAS, Site, Writer, Written, activations, bias, weighted

# ---------------------------------------------------------------------- products


def conv(site: Site) -> Written | str:
    """QLinearConv: y = x * w + b, b counted in x_scale * w_scale."""
    operands = weighted(site, 0)
    if isinstance(operands, str):
        return operands
    x, w, y = operands
    b = bias(site, x.scale.astype(np.float64) * w.scale)
    if b is None:
        return NO_BIAS
    return Written("QLinearConv", [*x.triple, *w.triple, y.scale_name, y.zero_name, *([b] if b else [])])


def matmul(site: Site) -> Written | str:
    """QLinearMatMul, with scales for each column of a matrix."""
    operands = weighted(site, -1)
    if isinstance(operands, str):
        return operands
    x, w, y = operands
    if w.axis is not None and len(site.graph.shape(w.tensor) or ()) != 2:
        return "scales for each column need a matrix"
    return Written("QLinearMatMul", [*x.triple, *w.triple, y.scale_name, y.zero_name])


def gemm(site: Site) -> Written | str:
    """QGemm: alpha * A * B + C; C counts in alpha * a_scale * b_scale, beta included."""
    operands = weighted(site, 0 if attribute(site.node, "transB", 0) else 1)
    if isinstance(operands, str):
        return operands
    a, b, y = operands
    alpha, beta = attribute(site.node, "alpha", 1.0), attribute(site.node, "beta", 1.0)
    c: str | None = ""
    if site.has_input(2):
        c = bias(site, a.scale.astype(np.float64) * b.scale * (alpha / beta)) if beta else None
    if c is None:
        return NO_BIAS
    return Written("QGemm", [*a.triple, *b.triple, c, y.scale_name, y.zero_name], MICROSOFT, dropped=("beta",))


# ---------------------------------------------------------------------- one or two operands


def _unary(op_type: str, **attributes: Any) -> Writer:
    def write(site: Site) -> Written | str:
        ends = activations(site, 0)
        if isinstance(ends, str):
            return ends
        (x,), y = ends
        return Written(op_type, [*x.triple, y.scale_name, y.zero_name], MICROSOFT, attributes)

    return write


def _binary(op_type: str) -> Writer:
    def write(site: Site) -> Written | str:
        ends = activations(site, 0, 1)
        if isinstance(ends, str):
            return ends
        (a, b), y = ends
        return Written(op_type, [*a.triple, *b.triple, y.scale_name, y.zero_name], MICROSOFT)

    return write


def softmax(site: Site) -> Written | str:
    """QLinearSoftmax asks for the opset: below 13 an axis flattens what follows it."""
    y = site.outputs[0]
    is_int8 = y is not None and y.element_type == TensorProto.INT8
    if y is not None and is_int8 and (1 / y.scale + y.zero_point >= 127.5).any():
        return "int8 codes of 1.0 would wrap around instead of saturating (onnxruntime 1.20)"
    opset = site.graph.opset
    axis = attribute(site.node, "axis", -1 if opset >= 13 else 1)
    return _unary("QLinearSoftmax", axis=axis, opset=opset)(site)


def average_pool(site: Site) -> Written | str:
    """QLinearAveragePool knows no dilations."""
    if any(step != 1 for step in attribute(site.node, "dilations", ())):
        return "QLinearAveragePool knows no dilations"
    write = _unary("QLinearAveragePool")(site)
    return write if isinstance(write, str) else Written(write.op_type, write.inputs, MICROSOFT, dropped=("dilations",))


def concat(site: Site) -> Written | str:
    """QLinearConcat needs two inputs; one passes its codes on."""
    if len(site.node.input) == 1:
        return move(site)
    ends = activations(site, *range(len(site.node.input)))
    if isinstance(ends, str):
        return ends
    parts, y = ends
    return Written("QLinearConcat", [y.scale_name, y.zero_name, *(n for part in parts for n in part.triple)], MICROSOFT)


def where(site: Site) -> Written | str:
    """QLinearWhere; the condition is no number."""
    ends = activations(site, 1, 2)
    if isinstance(ends, str):
        return ends
    (a, b), y = ends
    return Written("QLinearWhere", [site.node.input[0], *a.triple, *b.triple, y.scale_name, y.zero_name], MICROSOFT)


# ---------------------------------------------------------------------- codes that only move


def move(site: Site) -> Written | str:
    """An operator that chooses among its input's values chooses among the codes where the scale stays."""
    x = site.input(0)
    if x is None:
        return "the input is not 8-bit codes behind a DequantizeLinear"
    if any(y is None for y in site.outputs):
        return "an output does not go to one QuantizeLinear alone"
    if not all(y.has_meaning_of(x) for y in site.outputs if y is not None):
        return "the output has another scale than the input"
    return Written(site.node.op_type, [x.tensor, *site.node.input[1:]])


def max_pool(site: Site) -> Written | str:
    """MaxPool takes 8-bit codes from opset 12 on."""
    if site.graph.opset < 12:
        return "MaxPool takes 8-bit codes from opset 12 on"
    return move(site)


def resize(site: Site) -> Written | str:
    """Resize by nearest values; onnxruntime cuts the fractions of interpolated codes off."""
    if attribute(site.node, "mode", b"nearest") != b"nearest":
        return "interpolated codes would be cut off, not rounded"
    return move(site)


def pad(site: Site) -> Written | str:
    """Pad with the code of the value: a constant of its own, or what a node makes of a value that is computed."""
    if site.graph.opset < 11:
        return "Pad takes codes from opset 11 on"
    written = move(site)
    if isinstance(written, str) or attribute(site.node, "mode", b"constant") != b"constant":
        return written
    x = site.input(0)
    assert x is not None
    value = _pad_value(site)
    name = f"{site.node.name or site.node.output[0]}_value_quantized"
    if value is None:
        # The output has the scale of the input: its range holds the value, which no code clips.
        fill = site.graph.unique(name)
        site.graph.make("QuantizeLinear", [site.node.input[2], x.scale_name, x.zero_name], [fill])
    else:
        code = quantize(np.asarray(value), x.scale, x.zero_point.astype(np.int64), host_qtype(x.element_type).limits())
        fill = site.graph.add_initializer(name, code.astype(x.zero_point.dtype))
    return Written("Pad", [*written.inputs[:2], fill, *written.inputs[3:]])


def _pad_value(site: Site) -> float | None:
    if not site.has_input(2):
        return 0.0
    quantized = site.input(2)
    array = site.graph.array(quantized.tensor if quantized is not None else site.node.input[2])
    if array is None or array.size != 1:
        return None
    if quantized is None:
        return float(array.item())
    return float(dequantize(array, quantized.scale, quantized.zero_point).item())


def arg_max(site: Site) -> Written | str:
    """The largest code is the largest number."""
    x = site.input(0)
    if x is None or x.axis is not None or x.element_type not in EIGHT_BITS:
        return "the input is not 8-bit codes behind a DequantizeLinear"
    return Written("ArgMax", [x.tensor])


WRITERS: dict[str, Writer] = {
    "Conv": conv,
    "MatMul": matmul,
    "Gemm": gemm,
    "Add": _binary("QLinearAdd"),
    "Mul": _binary("QLinearMul"),
    "Sigmoid": _unary("QLinearSigmoid"),
    "LeakyRelu": _unary("QLinearLeakyRelu"),
    "Softmax": softmax,
    "GlobalAveragePool": _unary("QLinearGlobalAveragePool"),
    "AveragePool": average_pool,
    "Concat": concat,
    "Where": where,
    "MaxPool": max_pool,
    "Resize": resize,
    "Pad": pad,
    "ArgMax": arg_max,
    **dict.fromkeys(sorted(MOVES - {"Identity"} | {"GatherElements", "GatherND"}), move),
}
