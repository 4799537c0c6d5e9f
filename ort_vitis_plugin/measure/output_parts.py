"""A detector's last Concat joins boxes of hundreds of pixels and scores below 1: one figure of both hides the scores.

The parts of an output are the columns that the Concat behind which nothing computes joins, found through operators that
only move values. Where that Concat joins the levels of a pyramid, each of them joined of the same columns, the columns
are the parts.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import onnx

from ..graph import Graph, attribute
from ..graph.nodes import DEFAULT_DOMAINS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from onnx import ModelProto, NodeProto

# Joined of more pieces than a reader looks at one by one.
MOST_PARTS = 12
SAME_AXES = frozenset({"Cast", "Dropout", "Identity"})


@dataclass(frozen=True)
class Part:
    """Entries ``start`` to ``stop`` of one axis of an output; ``tensor`` is what the Concat takes them from."""

    output: str
    axis: int
    start: int
    stop: int
    tensor: str

    @property
    def name(self) -> str:
        """As one would index the output: ``scores[:, 4:84]``."""
        return f"{self.output}[{':, ' * self.axis}{self.start}:{self.stop}]"

    def of(self, values: NDArray[Any]) -> NDArray[Any]:
        """This part of the output's values."""
        return values[(slice(None),) * self.axis + (slice(self.start, self.stop),)]


@dataclass(frozen=True)
class _Joint:
    """Along an axis of the output a Concat joins ``tensors`` of these sizes; ``axes`` are the output's, as it has
    them."""

    axis: int
    sizes: tuple[int, ...]
    tensors: tuple[str, ...]
    axes: tuple[int | None, ...]


class _Walk:
    """Back from an output to the Concats that made it. ``axes[i]`` is the output's axis on which axis i of a tensor
    comes to lie, None where it is mixed with another."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def joint(self, tensor: str, axes: tuple[int | None, ...]) -> _Joint | None:
        """The nearest Concat before the tensor, if nothing computes behind it."""
        node = self.graph.producer(tensor)
        while node is not None and node.domain in DEFAULT_DOMAINS:
            if node.op_type == "Concat":
                return self._read(node, axes)
            before = self._before(node, axes)
            if before is None:
                return None
            axes, node = before, self.graph.producer(node.input[0])
        return None

    def _read(self, node: NodeProto, axes: tuple[int | None, ...]) -> _Joint | None:
        own = int(attribute(node, "axis", 1))
        own += len(axes) if own < 0 else 0
        sizes = [_size(self.graph, name, own) for name in node.input]
        axis = axes[own] if own < len(axes) else None
        if axis is None or len(node.input) < 2 or any(size is None for size in sizes):
            return None
        return _Joint(axis, tuple(size for size in sizes if size is not None), tuple(node.input), axes)

    def _before(self, node: NodeProto, axes: tuple[int | None, ...]) -> tuple[int | None, ...] | None:
        if node.op_type in SAME_AXES:
            return axes
        if node.op_type == "Transpose":
            order = [int(axis) for axis in attribute(node, "perm", range(len(axes))[::-1])]
            return tuple(axes[order.index(at)] for at in range(len(order))) if len(order) == len(axes) else None
        if node.op_type == "Reshape":
            return self._reshaped(node, axes)
        return None

    def _reshaped(self, node: NodeProto, axes: tuple[int | None, ...]) -> tuple[int | None, ...] | None:
        """An axis outlives a Reshape where as much lies before it as did, and it has as many entries."""
        before, after = (self.graph.shape(name) for name in (node.input[0], node.output[0]))
        if before is None or after is None or len(after) != len(axes):
            return None
        kept = {(_entries(after[:at]), after[at]): axis for at, axis in enumerate(axes)}
        return tuple(kept.get((_entries(before[:at]), before[at])) for at in range(len(before)))


def _entries(dims: Sequence[int | str | None]) -> tuple[int, tuple[str, ...]] | None:
    if None in dims:
        return None
    return math.prod(dim for dim in dims if isinstance(dim, int)), tuple(dim for dim in dims if isinstance(dim, str))


def _size(graph: Graph, tensor: str, axis: int) -> int | None:
    shape = graph.shape(tensor)
    size = shape[axis] if shape is not None and axis < len(shape) else None
    return size if isinstance(size, int) else None


def _inner(walk: _Walk, joint: _Joint) -> _Joint:
    """What each piece is joined of along another axis, if all are joined alike; else the joint itself."""
    found = [walk.joint(tensor, joint.axes) for tensor in joint.tensors]
    first = found[0]
    if first is None or first.axis == joint.axis:
        return joint
    alike = all(each is not None and (each.axis, each.sizes) == (first.axis, first.sizes) for each in found)
    return first if alike else joint


def output_parts(model: ModelProto) -> dict[str, list[Part]]:
    """{output: its parts, in order} of the outputs that have at least two and at most 12.

    ``model`` is the float model; types and shapes are inferred where it does not state them.
    """
    if not any(node.op_type == "Concat" for node in model.graph.node):
        return {}
    graph = Graph(onnx.shape_inference.infer_shapes(model, data_prop=True), copy=False)
    walk, found = _Walk(graph), {}
    for output in graph.outputs:
        rank = len(graph.shape(output) or ())
        joint = walk.joint(output, tuple(range(rank)))
        if joint is None:
            continue
        joint = _inner(walk, joint)
        if len(joint.sizes) > MOST_PARTS:
            continue
        starts = [sum(joint.sizes[:at]) for at in range(len(joint.sizes))]
        found[output] = [
            Part(output, joint.axis, start, start + size, tensor)
            for start, size, tensor in zip(starts, joint.sizes, joint.tensors, strict=True)
        ]
    return found
