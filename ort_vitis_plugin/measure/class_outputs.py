"""An output ranks classes where a Softmax makes it, or a product of matrices writes one row of them per sample or step.

Whoever reads it takes the largest entry, so its agreement with float counts beside its decibels.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import onnx

from ..graph import Graph, attribute
from ..graph.nodes import DEFAULT_DOMAINS
from ..graph.op_sets import MATRIX_PRODUCTS, SOFTMAXES

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import ModelProto

PASSED = frozenset({"Add", "Cast", "Identity", "Reshape", "Squeeze", "Flatten"})
FLAT_BEFORE = 13  # opsets in which a Softmax ranks over its axis and all behind it
SEQUENCE_CLASSES = 10  # of fewer columns in a row per step, a product may as well write coordinates


def class_axes(model: ModelProto) -> dict[str, int]:
    """{output: the axis along which it ranks classes} of the float model's outputs that look so.

    Two axes of which the second has several entries are rows of classes; so are three or more behind a Softmax, or
    behind a product of matrices with ten columns at least.
    """
    graph = Graph(model, copy=False)
    if any(graph.shape(output) is None for output in graph.outputs):
        graph = Graph(onnx.shape_inference.infer_shapes(model, data_prop=True), copy=False)
    return {output: axis for output in graph.outputs if (axis := _axis(graph, output)) is not None}


@dataclass(frozen=True)
class End:
    """The tensor in which an output is compared. A Softmax that reads it sees how its classes differ, not what all of
    them share: ``axis`` is where they lie, the first of all their axes where they are ``flat``."""

    tensor: str
    axis: int | None = None
    flat: bool = False

    def seen_of(self, values: NDArray[Any]) -> NDArray[Any]:
        """What of its values counts."""
        if self.axis is None or values.dtype.kind != "f":
            return values
        axis = self.axis % values.ndim
        classes = tuple(range(axis, values.ndim)) if self.flat else axis
        seen: NDArray[Any] = values - values.mean(axis=classes, keepdims=True)
        return seen


def before_softmax(graph: Graph, output: str) -> End:
    """What a Softmax at the end reads, which it hides where one class is certain; the output itself where none is."""
    node = graph.producer(output)
    if node is None or node.op_type != "Softmax" or graph.producer(node.input[0]) is None:
        return End(output)
    flat = graph.opset < FLAT_BEFORE
    return End(node.input[0], int(attribute(node, "axis", 1 if flat else -1)), flat)


def _axis(graph: Graph, output: str) -> int | None:
    shape = graph.shape(output) or ()
    if len(shape) == 2:
        return 1 if shape[1] != 1 else None
    if len(shape) < 3:
        return None
    tensor, order = output, list(range(len(shape)))
    while (node := graph.producer(tensor)) is not None and node.domain in DEFAULT_DOMAINS:
        if node.op_type in SOFTMAXES:
            axis = int(attribute(node, "axis", -1)) % len(shape)
            return order.index(axis)
        if node.op_type in MATRIX_PRODUCTS:
            size = shape[order.index(len(shape) - 1)]
            return order.index(len(shape) - 1) if isinstance(size, int) and size >= SEQUENCE_CLASSES else None
        if node.op_type == "Transpose":
            permutation = [int(axis) for axis in attribute(node, "perm", range(len(shape))[::-1])]
            order = [permutation[axis] for axis in order]
        elif node.op_type not in PASSED:
            return None
        computed = [name for name in node.input if graph.array(name) is None]
        if len(computed) != 1:
            return None
        tensor = computed[0]
        if len(graph.shape(tensor) or ()) != len(shape):
            return None
    return None
