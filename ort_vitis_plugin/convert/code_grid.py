"""The nodes around codes say what the codes stand for: (q - zero point) * scale."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, helper

from ort_vitis_plugin.custom_ops.qdq_nodes import is_native
from ort_vitis_plugin.graph import Graph, attribute, has_input
from ort_vitis_plugin.graph.element_types import EIGHT_BITS, SIXTEEN_BITS
from ort_vitis_plugin.numerics.positions import position_of
from ort_vitis_plugin.numerics.qtypes import host_qtype
from ort_vitis_plugin.numerics.quantize import along, dequantize, quantize

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import NodeProto

_KNOWN = EIGHT_BITS | SIXTEEN_BITS | {TensorProto.INT32}


def is_native_quantize(node: NodeProto | None) -> bool:
    """Whether the node is QuantizeLinear as onnxruntime has it."""
    return is_native(node, "QuantizeLinear")


def is_native_dequantize(node: NodeProto | None) -> bool:
    """Whether the node is DequantizeLinear as onnxruntime has it."""
    return is_native(node, "DequantizeLinear")


@dataclass(frozen=True)
class Grid:
    """The numbers that codes of one type can stand for; scale and zero point are scalars, or vectors along ``axis``."""

    scale: NDArray[np.float32]
    zero_point: NDArray[np.int64]
    element_type: int
    axis: int | None = None

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(helper.tensor_dtype_to_np_dtype(self.element_type))

    @property
    def limits(self) -> tuple[int, int]:
        """The smallest and the largest code."""
        return host_qtype(self.element_type).limits()

    @property
    def is_shift(self) -> bool:
        """Whether every scale is a power of two: then codes of products and sums are found without rounding."""
        return all(position_of(float(scale)) is not None for scale in self.scale.flat)

    @property
    def is_eight_bit_shift(self) -> bool:
        return self.element_type in EIGHT_BITS and self.is_shift

    def is_same(self, other: Grid | None) -> bool:
        """Whether equal codes stand for equal numbers."""
        return (
            other is not None
            and (self.element_type, self.axis) == (other.element_type, other.axis)
            and np.array_equal(self.scale, other.scale)
            and np.array_equal(self.zero_point, other.zero_point)
        )

    def code(self, value: float) -> int:
        """The code of one number on a grid with one scale."""
        return int(quantize(np.asarray(value), self.scale, self.zero_point, self.limits))

    def values(self, codes: NDArray[Any]) -> NDArray[np.float32]:
        """What an array of codes stands for."""
        scale, zero = (along(each, codes.ndim, self.axis) for each in (self.scale, self.zero_point))
        return dequantize(codes, scale, zero)

    def codes(self, values: NDArray[Any]) -> NDArray[Any]:
        """The codes of an array of numbers."""
        scale, zero = (along(each, values.ndim, self.axis) for each in (self.scale, self.zero_point))
        return quantize(values, scale, zero, self.limits).astype(self.dtype)


def grid_of(graph: Graph, node: NodeProto | None) -> Grid | None:
    """The grid of a quantize or dequantize node with constant parameters, or None."""
    if node is None or not (is_native_quantize(node) or is_native_dequantize(node)) or attribute(node, "block_size", 0):
        return None
    scale = graph.array(node.input[1])
    if scale is None or scale.dtype != np.float32:
        return None
    zero, element_type = np.zeros(scale.shape, np.int64), 0
    if has_input(node, 2):
        array = graph.array(node.input[2])
        if array is None or array.size != scale.size:
            return None
        zero, element_type = array.astype(np.int64), graph.element_type(node.input[2])
        element_type = element_type or helper.np_dtype_to_tensor_dtype(array.dtype)
    elif is_native_quantize(node):
        element_type = int(attribute(node, "output_dtype", 0)) or TensorProto.UINT8
    else:
        element_type = graph.element_type(node.input[0])
    if element_type not in _KNOWN:
        return None
    shape = () if scale.size == 1 else (scale.size,)
    return Grid(scale.reshape(shape), zero.reshape(shape), element_type, attribute(node, "axis", 1) if shape else None)


def grid_behind(graph: Graph, tensor: str) -> Grid | None:
    """The grid of a tensor that a dequantize node makes, or None."""
    producer = graph.producer(tensor)
    return grid_of(graph, producer) if is_native_dequantize(producer) else None


def constant_values(graph: Graph, tensor: str) -> NDArray[np.float32] | None:
    """The numbers of a constant, given as floats or as codes behind a dequantize node, or None."""
    producer = graph.producer(tensor)
    if not is_native_dequantize(producer):
        array = graph.array(tensor)
        return array if array is not None and array.dtype == np.float32 else None
    assert producer is not None
    codes, grid = graph.array(producer.input[0]), grid_of(graph, producer)
    return None if codes is None or grid is None else grid.values(codes)


def sole_quantizer(graph: Graph, tensor: str) -> NodeProto | None:
    """The quantize node that alone reads a tensor, or None."""
    reader = graph.sole_consumer(tensor)
    return reader if is_native_quantize(reader) else None


def clear_unread(graph: Graph) -> None:
    """Remove the dequantize nodes that nobody reads any more."""
    for node in graph:
        if is_native_dequantize(node) and node.output[0] not in graph.outputs and not graph.consumers(node.output[0]):
            graph.remove(node)
