"""The operators that onnxruntime's CPU runs on 8-bit codes, as written for one float operator between pairs.

y = quantize(op(dequantize(x), ...)) becomes one node where a kernel for the types exists. Activations of a node have
one type; weights are uint8 or int8 beside uint8 activations, int8 beside int8 ones (1.20.1 and 1.32.0 alike).
"""

# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from ort_vitis_plugin.graph import attribute
from ort_vitis_plugin.numerics import dequantize, quantize
from ort_vitis_plugin.types import qtype

if TYPE_CHECKING:
    from onnx import NodeProto

    from ort_vitis_plugin.graph import Graph

CONTRIB = "com.microsoft"
EIGHT_BITS = (TensorProto.UINT8, TensorProto.INT8)
# x * w is computed in float32 by whoever wrote the model: it differs from ours by its rounding.
SCALE_TOLERANCE = 1e-5


@dataclass(frozen=True)
class Codes:
    """A quantized tensor: its codes, the constants that say what they stand for, and the values of those.

    ``scale`` and ``zero_point`` are scalars, or vectors along ``axis``.
    """

    tensor: str
    element_type: int
    scale_name: str
    zero_name: str
    scale: NDArray[np.float32]
    zero_point: NDArray[Any]
    axis: int | None = None

    @property
    def triple(self) -> list[str]:
        return [self.tensor, self.scale_name, self.zero_name]

    def has_meaning_of(self, other: Codes) -> bool:
        """Whether equal codes stand for equal numbers."""
        return (
            self.element_type == other.element_type
            and self.axis is other.axis is None
            and float(self.scale) == float(other.scale)
            and int(self.zero_point) == int(other.zero_point)
        )


@dataclass(frozen=True)
class Site:
    """A float operator with the codes behind its inputs and those that its outputs are turned into."""

    graph: Graph
    node: NodeProto
    inputs: Sequence[Codes | None]
    outputs: Sequence[Codes | None]

    def input(self, number: int) -> Codes | None:
        return self.inputs[number] if number < len(self.inputs) else None

    def has_input(self, number: int) -> bool:
        return len(self.node.input) > number and bool(self.node.input[number])


@dataclass(frozen=True)
class Written:
    """The node to write; attributes of the float one stay except those dropped."""

    op_type: str
    inputs: Sequence[str]
    domain: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()


Writer = Callable[[Site], "Written | str"]


# ---------------------------------------------------------------------- conditions


def _activations(site: Site, *numbers: int) -> tuple[list[Codes], Codes] | str:
    """The codes of these inputs and of the output, if all have one type and one scale each."""
    found = [site.input(number) for number in numbers]
    y = site.outputs[0]
    codes = [each for each in found if each is not None]
    if len(codes) != len(found):
        return "an input is not 8-bit codes behind a DequantizeLinear"
    if y is None:
        return "the output does not go to one QuantizeLinear alone"
    if any(each.axis is not None for each in (*codes, y)):
        return "an activation has a scale for each channel"
    if any(each.element_type != y.element_type for each in codes):
        return "inputs and output have different types"
    return codes, y


def _weighted(site: Site, axis: int) -> tuple[Codes, Codes, Codes] | str:
    """Activation, weight and output of an operator whose weight may have scales along ``axis``."""
    ends = _activations(site, 0)
    if isinstance(ends, str):
        return ends
    (x,), y = ends
    w = site.input(1)
    if w is None or w.element_type not in EIGHT_BITS:
        return "the weight is not 8-bit codes behind a DequantizeLinear"
    if x.element_type == TensorProto.INT8 != w.element_type:
        return "no kernel takes int8 activations with uint8 weights"
    if w.axis is None:
        return x, w, y
    shape = site.graph.shape(w.tensor)
    if shape is None or w.axis % len(shape) != axis % len(shape):
        return "the weight's scales lie along another axis than its outputs"
    if (w.zero_point != w.zero_point.flat[0]).any():
        return "the weight's channels have different zero points"
    return x, w, y


def _bias(site: Site, scale: NDArray[Any]) -> str | None:
    """The int32 codes of input 2 if they count in ``scale``; '' without a bias, None if they do not fit."""
    if not site.has_input(2):
        return ""
    b = site.input(2)
    if b is None or b.element_type != TensorProto.INT32 or b.zero_point.any():
        return None
    if b.scale.size != scale.size and 1 not in (b.scale.size, scale.size):
        return None
    return b.tensor if np.allclose(b.scale, scale, rtol=SCALE_TOLERANCE, atol=0) else None


NO_BIAS = "the bias is not int32 with the scale of the products"

# ---------------------------------------------------------------------- products


def conv(site: Site) -> Written | str:
    """QLinearConv: y = x * w + b, b counted in x_scale * w_scale."""
    operands = _weighted(site, 0)
    if isinstance(operands, str):
        return operands
    x, w, y = operands
    b = _bias(site, x.scale.astype(np.float64) * w.scale)
    if b is None:
        return NO_BIAS
    return Written("QLinearConv", [*x.triple, *w.triple, y.scale_name, y.zero_name, *([b] if b else [])])


def matmul(site: Site) -> Written | str:
    """QLinearMatMul, with scales for each column of a matrix."""
    operands = _weighted(site, -1)
    if isinstance(operands, str):
        return operands
    x, w, y = operands
    if w.axis is not None and len(site.graph.shape(w.tensor) or ()) != 2:
        return "scales for each column need a matrix"
    return Written("QLinearMatMul", [*x.triple, *w.triple, y.scale_name, y.zero_name])


def gemm(site: Site) -> Written | str:
    """QGemm: alpha * A * B + C; C counts in alpha * a_scale * b_scale, beta included."""
    operands = _weighted(site, 0 if attribute(site.node, "transB", 0) else 1)
    if isinstance(operands, str):
        return operands
    a, b, y = operands
    alpha, beta = attribute(site.node, "alpha", 1.0), attribute(site.node, "beta", 1.0)
    c: str | None = ""
    if site.has_input(2):
        c = _bias(site, a.scale.astype(np.float64) * b.scale * (alpha / beta)) if beta else None
    if c is None:
        return NO_BIAS
    return Written("QGemm", [*a.triple, *b.triple, c, y.scale_name, y.zero_name], CONTRIB, dropped=("beta",))


# ---------------------------------------------------------------------- one or two operands


def _unary(op_type: str, **attributes: Any) -> Writer:
    def write(site: Site) -> Written | str:
        ends = _activations(site, 0)
        if isinstance(ends, str):
            return ends
        (x,), y = ends
        return Written(op_type, [*x.triple, y.scale_name, y.zero_name], CONTRIB, attributes)

    return write


def _binary(op_type: str) -> Writer:
    def write(site: Site) -> Written | str:
        ends = _activations(site, 0, 1)
        if isinstance(ends, str):
            return ends
        (a, b), y = ends
        return Written(op_type, [*a.triple, *b.triple, y.scale_name, y.zero_name], CONTRIB)

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
    return write if isinstance(write, str) else Written(write.op_type, write.inputs, CONTRIB, dropped=("dilations",))


def concat(site: Site) -> Written | str:
    """QLinearConcat needs two inputs; one passes its codes on."""
    if len(site.node.input) == 1:
        return move(site)
    ends = _activations(site, *range(len(site.node.input)))
    if isinstance(ends, str):
        return ends
    parts, y = ends
    return Written("QLinearConcat", [y.scale_name, y.zero_name, *(n for part in parts for n in part.triple)], CONTRIB)


def where(site: Site) -> Written | str:
    """QLinearWhere; the condition is no number."""
    ends = _activations(site, 1, 2)
    if isinstance(ends, str):
        return ends
    (a, b), y = ends
    return Written("QLinearWhere", [site.node.input[0], *a.triple, *b.triple, y.scale_name, y.zero_name], CONTRIB)


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
    """Pad with the code of the value, in a constant of its own."""
    if site.graph.opset < 11:
        return "Pad takes codes from opset 11 on"
    written = move(site)
    if isinstance(written, str) or attribute(site.node, "mode", b"constant") != b"constant":
        return written
    x = site.input(0)
    assert x is not None
    value = _pad_value(site)
    if value is None:
        return "the pad value is not constant"
    code = quantize(np.asarray(value), x.scale, x.zero_point.astype(np.int64), qtype(x.element_type).limits())
    name = f"{site.node.name or site.node.output[0]}_value_quantized"
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
    **dict.fromkeys(
        (
            "Expand",
            "Flatten",
            "Gather",
            "GatherElements",
            "GatherND",
            "Reshape",
            "Slice",
            "Split",
            "Squeeze",
            "Tile",
            "Transpose",
            "Unsqueeze",
        ),
        move,
    ),
}
