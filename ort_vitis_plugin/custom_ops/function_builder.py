"""Builds the nodes of a model-local function, one call per node."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import AttributeProto, NodeProto, TensorProto, helper, numpy_helper


class Body:
    """The node list of a function; every method appends nodes and returns the name of their result."""

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.nodes: list[NodeProto] = []

    def call(self, op_type: str, *inputs: str, result: str = "", **attributes: Any) -> str:
        """``result`` = op_type(inputs); a fresh name unless one is given."""
        name = result or f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, inputs, [name], **attributes))
        return name

    def constant(self, value: NDArray[Any]) -> str:
        """A tensor."""
        return self.call("Constant", value=numpy_helper.from_array(value))

    def cast(self, tensor: str, element_type: int, result: str = "") -> str:
        """The tensor in another element type."""
        return self.call("Cast", tensor, result=result, to=element_type)

    def attribute(self, name: str, kind: AttributeProto.AttributeType) -> str:
        """The value of the calling node's attribute, as a tensor."""
        field = "value_int" if kind == AttributeProto.INT else "value_string"
        result = self.call("Constant")
        self.refer(field, name, kind)
        return result

    def refer(self, field: str, name: str, kind: AttributeProto.AttributeType) -> None:
        """Attribute ``field`` of the last node is the calling node's attribute ``name``."""
        self.nodes[-1].attribute.append(AttributeProto(name=field, ref_attr_name=name, type=kind))

    def at_least(self, tensor: str, bound: str) -> str:
        """max(tensor, bound), where NaN gives the bound; ONNX leaves NaN in Max and Clip to the runtime."""
        return self.call("Where", self.call("Greater", tensor, bound), tensor, bound)

    def saturated(self, tensor: str, limit: str) -> str:
        """The tensor clamped to [-limit, limit]; NaN stays, and -0.0, which ORT keeps in the last input of Where."""
        upper = self.call("Where", self.call("Greater", tensor, limit), limit, tensor)
        lower = self.call("Neg", limit)
        return self.call("Where", self.call("Greater", lower, upper), lower, upper)

    def rounded(self, tensor: str, element_type: int) -> str:
        """Round half to even by adding and subtracting 1.5 times the smallest float without a fraction.

        Op Round is missing below opset 11, and would keep the sign of -0.3 that an integer code cannot have.
        """
        double = element_type == TensorProto.DOUBLE
        magic = self.constant(np.array(1.5 * 2**52, np.float64) if double else np.array(1.5 * 2**23, np.float32))
        return self.call("Sub", self.call("Add", tensor, magic), magic)

    def scalar(self, tensor: str) -> str:
        """A tensor of one element without its dimensions."""
        return self.call("Reshape", tensor, self.constant(np.zeros(0, np.int64)))

    def alignment(self, x: str) -> str:
        """The shape [-1, 1, ..., 1] that puts a vector along attribute ``axis`` of ``x``.

        An axis that ``x`` does not have gives one axis too many, so that nothing of x's shape can be made of the
        result. However large the attribute is, the shape is no longer than that.
        """
        one = self.constant(np.array([1], np.int64))
        axis = self.call("Reshape", self.attribute("axis", AttributeProto.INT), one)
        zero, minus_one = (self.constant(np.array([value], np.int64)) for value in (0, -1))
        rank = self.call("Shape", self.call("Shape", x))
        negative = self.call("Less", axis, zero)
        trailing = self.call("Sub", self.call("Where", negative, zero, rank), self.call("Add", axis, one))
        inside = self.call("And", self.call("Less", trailing, rank), self.call("Less", minus_one, trailing))
        count = self.call("Where", inside, trailing, rank)
        ones = self.call("ConstantOfShape", count, value=numpy_helper.from_array(np.array([1], np.int64)))
        return self.call("Concat", self.constant(np.array([-1], np.int64)), ones, axis=0)
