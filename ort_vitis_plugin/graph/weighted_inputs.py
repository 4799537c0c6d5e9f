"""What a constant weight is multiplied with: a tensor, and the axis over which the product sums."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .nodes import attribute
from .op_sets import CONVOLUTIONS, PRODUCTS

if TYPE_CHECKING:
    from onnx import NodeProto

    from .graph import Graph


@dataclass(frozen=True)
class WeightedInput:
    """``weight`` [*shape] of ``node`` is multiplied with ``data``, whose input channels lie along ``axis``.

    ``rank`` is that of the data, 0 where the node takes any.
    """

    node: NodeProto
    weight: str
    data: str
    axis: int
    rank: int
    shape: tuple[int, ...]

    @property
    def spread(self) -> tuple[int, ...]:
        """The shape in which one number per input channel multiplies the weight: -1 where the channels are.

        Of a Conv with groups the channels are [group, 1, channel in it], spread over the weight's [group, output,
        channel, ...].
        """
        rank = len(self.shape)
        if self.node.op_type == "Conv":
            return (self.groups, 1, self.shape[1], *[1] * (rank - 2))
        if self.node.op_type == "ConvTranspose":
            return (-1, *[1] * (rank - 1))
        return (-1,) if attribute(self.node, "transB", 0) else (-1, 1)

    @property
    def grouped(self) -> tuple[int, ...]:
        """The weight's shape when it is multiplied with what has the shape ``spread``."""
        if self.node.op_type == "Conv":
            return (self.groups, self.shape[0] // self.groups, *self.shape[1:])
        return self.shape

    @property
    def groups(self) -> int:
        """How many products stand side by side."""
        return int(attribute(self.node, "group", 1)) if self.node.op_type in CONVOLUTIONS else 1

    @property
    def channels(self) -> int:
        """How many input channels there are."""
        if self.node.op_type == "Conv":
            return self.groups * self.shape[1]
        if self.node.op_type == "ConvTranspose":
            return self.shape[0]
        return self.shape[-1] if len(self.spread) == 1 else self.shape[-2]


def weighted_inputs(graph: Graph) -> Iterator[WeightedInput]:
    """Every weight of the graph that is a constant matrix or kernel on the right, beside data that is none."""
    for node in graph.of_type(*PRODUCTS):
        data, weight = node.input[0], node.input[1]
        shape = tuple(graph.initializers[weight].dims) if graph.is_constant(weight) else ()
        if len(shape) < 2 or 0 in shape or graph.is_constant(data):
            continue
        if node.op_type in CONVOLUTIONS:
            axis, rank = 1, len(shape)
        elif node.op_type == "Gemm":
            axis, rank = (0 if attribute(node, "transA", 0) else 1), 2
        else:
            axis, rank = -1, 0
        yield WeightedInput(node, weight, data, axis, rank, shape)
