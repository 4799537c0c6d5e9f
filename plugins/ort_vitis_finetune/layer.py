"""A layer is a product of matrices, one per group: y = W x + b, with W [group, output, K] and x [group, K, column].

Conv, ConvTranspose, Gemm and MatMul are told apart here and nowhere else.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ort_vitis_plugin.api import CONVOLUTIONS, PRODUCTS, attribute

from . import windows

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import NodeProto


@dataclass(frozen=True)
class Layer:
    """One node, and the shape of its constant.

    ``data`` and ``constant`` are the places of x and W among the node's inputs; b is input ``bias_at`` of
    ``bias_node``: of the node itself, or of an Add behind a MatMul.
    """

    node: NodeProto
    shape: tuple[int, ...]
    data: int = 0
    constant: int = 1
    bias_node: NodeProto | None = None
    bias_at: int = 2

    @property
    def groups(self) -> int:
        """How many products stand side by side."""
        if self.node.op_type in CONVOLUTIONS:
            return int(attribute(self.node, "group", 1))
        return math.prod(self.shape[:-2])

    @property
    def width(self) -> int:
        """K: how many weights each output has."""
        return int(self.rows(np.broadcast_to(np.float32(0), self.shape)).shape[2])

    @property
    def outputs(self) -> int:
        """How many rows W has in all groups."""
        return math.prod(self.shape) // self.width

    @property
    def output_axis(self) -> int:
        """The axis of its output along which W's rows lie."""
        if self.node.op_type in CONVOLUTIONS:
            return 1
        return -1 if self.constant else -2

    def rows(self, array: NDArray[Any]) -> NDArray[Any]:
        """An array of the constant's shape as W [group, output, K]."""
        groups = self.groups
        if self.node.op_type == "Conv":
            return array.reshape(groups, self.shape[0] // groups, -1)
        if self.node.op_type == "ConvTranspose":
            flipped = np.flip(array, axis=tuple(range(2, array.ndim)))
            split = flipped.reshape(groups, self.shape[0] // groups, *self.shape[1:])
            return np.moveaxis(split, 2, 1).reshape(groups, self.shape[1], -1)
        matrices = array.reshape(groups, *self.shape[-2:])
        return matrices if self._rows_are_outputs() else matrices.transpose(0, 2, 1)

    def constant_of(self, rows: NDArray[Any]) -> NDArray[Any]:
        """The inverse of ``rows``."""
        if self.node.op_type == "ConvTranspose":
            groups, outputs = self.groups, self.shape[1]
            split = rows.reshape(groups, outputs, self.shape[0] // groups, *self.shape[2:])
            whole = np.moveaxis(split, 1, 2).reshape(self.shape)
            return np.flip(whole, axis=tuple(range(2, whole.ndim)))
        if self.node.op_type == "Conv" or self._rows_are_outputs():
            return rows.reshape(self.shape)
        return rows.transpose(0, 2, 1).reshape(self.shape)

    def columns(self, x: NDArray[Any]) -> Columns:
        """The columns of one sample's input; nothing is copied until some are taken."""
        if self.node.op_type == "Conv":
            spread = windows.of_conv(self.node, self.shape[2:], x.shape[2:]).over(x)
            return Columns(spread, x.ndim - 1, self.groups)
        if self.node.op_type == "ConvTranspose":
            window, strides = windows.of_transpose(self.node, self.shape[2:], x.shape[2:])
            return Columns(window.over(windows.stretched(x, strides)), x.ndim - 1, self.groups)
        if self.node.op_type == "Gemm":
            return Columns(x.T if attribute(self.node, "transA", 0) else x, 1, 1)
        return self._matmul_columns(x)

    def _matmul_columns(self, x: NDArray[Any]) -> Columns:
        if self.constant == 0:
            x = np.swapaxes(x, -1, -2) if x.ndim > 1 else x
        if x.ndim == 1:
            x = x[None]
        x = np.broadcast_to(x, np.broadcast_shapes(x.shape[:-2], self.shape[:-2]) + x.shape[-2:])
        # Axes along which there are several constants become groups: they move behind all others, before K.
        first = x.ndim - len(self.shape)
        stack = [first + axis for axis, size in enumerate(self.shape[:-2]) if size > 1]
        target = list(range(x.ndim - 1 - len(stack), x.ndim - 1))
        return Columns(np.moveaxis(x, stack, target), x.ndim - 1 - len(stack), self.groups)

    def _rows_are_outputs(self) -> bool:
        if self.node.op_type == "Gemm":
            return bool(attribute(self.node, "transB", 0))
        return self.constant == 0


@dataclass(frozen=True)
class Columns:
    """What the outputs of a layer read: ``array`` [*positions, *what one position reads], by group."""

    array: NDArray[Any]
    position_axes: int
    groups: int

    def __len__(self) -> int:
        return math.prod(self.array.shape[: self.position_axes])

    def take(self, chosen: NDArray[np.int64]) -> NDArray[np.float32]:
        """The chosen columns, a copy [group, K, column]."""
        places = np.unravel_index(chosen, self.array.shape[: self.position_axes])
        taken = np.asarray(self.array[places], dtype=np.float32)
        return taken.reshape(len(chosen), self.groups, -1).transpose(1, 2, 0)


def layer_of(node: NodeProto, constants: dict[str, tuple[int, ...]]) -> Layer | str:
    """The node as a layer, or why it is none; ``constants`` gives the shapes of constants by name."""
    if node.op_type not in PRODUCTS:
        return f"{node.op_type} is no product with a constant"
    data, constant = 0, 1
    if node.op_type == "MatMul" and node.input[0] in constants:
        data, constant = 1, 0
    shape = constants.get(node.input[constant])
    if shape is None:
        return "its weights are not constant"
    if node.input[data] in constants:
        return "its input is constant"
    if len(shape) < 2 or 0 in shape:
        return f"weights of shape {list(shape)}"
    if constant == 0 and len(shape) > 2:
        return "a stack of constants on the left"
    if node.op_type == "Gemm" and (attribute(node, "alpha", 1.0) != 1.0 or attribute(node, "beta", 1.0) != 1.0):
        return "alpha or beta is not 1"
    layer = Layer(node, shape, data, constant)
    if node.op_type == "MatMul" or len(node.input) < 3 or not node.input[2]:
        return layer
    bias = constants.get(node.input[2])
    if bias is None:
        return "its bias is not constant"
    if math.prod(bias) != layer.outputs or (len(bias) > 1 and bias[-1] != layer.outputs):
        return f"a bias of shape {list(bias)}"
    return replace(layer, bias_node=node)


def with_added_bias(layer: Layer, add: NodeProto, constants: dict[str, tuple[int, ...]]) -> Layer:
    """The MatMul with the Add behind it as its bias, where that adds one constant per output; else as it is."""
    for at, name in enumerate(add.input):
        bias = constants.get(name)
        if bias is None or layer.groups != 1 or math.prod(bias) != layer.outputs:
            continue
        along_outputs = bias[-1:] == (layer.outputs,) if layer.constant else bias[-2:] == (layer.outputs, 1)
        if along_outputs:
            return replace(layer, bias_node=add, bias_at=at)
    return layer
