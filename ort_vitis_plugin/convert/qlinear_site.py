"""A float operator between pairs, and what a kernel on 8-bit codes asks of the codes around it.

Activations of a node have one type; weights are uint8 or int8 beside uint8 activations, int8 beside int8 ones (1.20.1
and 1.32.0 alike).
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from ort_vitis_plugin.graph import has_input
from ort_vitis_plugin.graph.element_types import EIGHT_BITS

if TYPE_CHECKING:
    from onnx import NodeProto

    from ort_vitis_plugin.graph import Graph

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
        """Codes, scale and zero point as a quantized operator takes them."""
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
        """The codes behind an input, if there are any."""
        return self.inputs[number] if number < len(self.inputs) else None

    def has_input(self, number: int) -> bool:
        """Whether an optional input is there."""
        return has_input(self.node, number)


@dataclass(frozen=True)
class Written:
    """The node to write; attributes of the float one stay except those dropped."""

    op_type: str
    inputs: Sequence[str]
    domain: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()


Writer = Callable[[Site], "Written | str"]


def activations(site: Site, *numbers: int) -> tuple[list[Codes], Codes] | str:
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


def weighted(site: Site, axis: int) -> tuple[Codes, Codes, Codes] | str:
    """Activation, weight and output of an operator whose weight may have scales along ``axis``."""
    ends = activations(site, 0)
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


def bias(site: Site, scale: NDArray[Any]) -> str | None:
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
