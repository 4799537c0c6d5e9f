"""The mean square of a tensor's channels is computed where the tensor is: a node that gives one sum per channel."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from ...graph.default_opset import default_opset

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, ValueInfoProto

    from ..channel_squares import Channels

PREFIX = "energy_of_channels"
AXES_AS_INPUT = 18  # opset


@dataclass(frozen=True)
class Energy:
    """Names of what the model gives: ``sums`` [C] of squares, float32, and ``size``, the number of values, int64.

    Where every sample has the same number of values ``size`` is that number.
    """

    channels: Channels
    sums: str
    size: str | int

    @property
    def outputs(self) -> list[str]:
        """What is fetched."""
        return [self.sums, self.size] if isinstance(self.size, str) else [self.sums]


class EnergyWriter:
    """Adds the nodes to a model; ``outputs`` are to be declared."""

    def __init__(self, model: ModelProto) -> None:
        self._graph = model.graph
        self._opset = default_opset(model)
        self._described = _described(model.graph)
        self._axes: dict[tuple[int, ...], str] = {}
        self._number = 0

    def add(self, channels: Channels) -> Energy:
        """The nodes for one tensor of floats. It is cast where it may be no float32, and its size is a node's where the
        model does not state it."""
        base, self._number = f"{PREFIX}/{self._number}", self._number + 1
        element_type, size = self._described.get(channels.tensor, (TensorProto.UNDEFINED, None))
        value, axes = channels.tensor, [axis for axis in range(channels.rank) if axis != channels.axis]
        if element_type != TensorProto.FLOAT:
            value = self._node("Cast", [value], f"{base}/value", to=TensorProto.FLOAT)
        if not channels.rank:
            value = self._node("Reshape", [value, self._constant(f"{base}/shape", [-1, channels.size])], f"{base}/rows")
            axes = [0]
        if self._opset < AXES_AS_INPUT:
            sums = self._node("ReduceSumSquare", [value], f"{base}/sums", axes=axes, keepdims=0)
        else:
            if tuple(axes) not in self._axes:
                self._axes[tuple(axes)] = self._constant(f"{base}/axes", axes)
            sums = self._node("ReduceSumSquare", [value, self._axes[tuple(axes)]], f"{base}/sums", keepdims=0)
        self._output(sums, TensorProto.FLOAT)
        if size is not None:
            return Energy(channels, sums, size)
        self._output(counted := self._node("Size", [channels.tensor], f"{base}/size"), TensorProto.INT64)
        return Energy(channels, sums, counted)

    def _node(self, op_type: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self._graph.node.append(helper.make_node(op_type, inputs, [output], output, **attributes))
        return output

    def _constant(self, name: str, values: list[int]) -> str:
        self._graph.initializer.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def _output(self, name: str, element_type: int) -> None:
        self._graph.output.append(helper.make_tensor_value_info(name, element_type, None))


def _described(graph: GraphProto) -> dict[str, tuple[int, int | None]]:
    """Element type by tensor, and number of values where the shape is open nowhere."""
    values = (*graph.value_info, *graph.input, *graph.output)
    return {value.name: (value.type.tensor_type.elem_type, _size(value)) for value in values}


def _size(value: ValueInfoProto) -> int | None:
    kind = value.type.tensor_type
    if not kind.HasField("shape") or not all(dim.HasField("dim_value") for dim in kind.shape.dim):
        return None
    return math.prod(int(dim.dim_value) for dim in kind.shape.dim)
