"""Layers that share one factor per channel: all that write, and all that read, tensors which Add and the like tie."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ort_vitis_plugin.api import CLAMP_OPS, DEFAULT_DOMAINS, WITH_BIAS, attribute

from .layer import Layer, why_not
from .pairs import FLATTENING, HOMOGENEOUS, flattens, limit_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnx import NodeProto

    from ort_vitis_plugin.api import Context, Graph

    from .layer import Channels


@dataclass
class ScaleGroup:
    """Output channel i of every head is input channel i of every tail, or its columns i * repeat ...

    ``scale`` is the factor by which channels are larger, ``tensors`` are what is quantized of them, and ``clips`` to a
    limit lie between.
    """

    heads: list[Layer] = field(default_factory=list)
    tails: list[Layer] = field(default_factory=list)
    tensors: list[str] = field(default_factory=list)
    clips: list[NodeProto] = field(default_factory=list)
    scale: Channels = field(default_factory=lambda: np.ones(0))

    def fits(self) -> bool:
        """Whether both ends are there, and of one number of channels."""
        sizes = {head.outputs for head in self.heads}
        if len(sizes) != 1 or not self.tails:
            return False
        self.scale = np.ones(sizes.pop())
        return all(tail.inputs % len(self.scale) == 0 for tail in self.tails)

    def spread(self, factors: Channels, tail: Layer) -> Channels:
        """Factors of channels as those of a tail's columns."""
        return np.repeat(factors, tail.inputs // len(self.scale))

    def multiply(self, factors: Channels) -> None:
        """Make the channels larger by these factors."""
        self.scale = self.scale * factors
        for head in self.heads:
            head.out_scale = head.out_scale * factors
        for tail in self.tails:
            tail.in_scale = tail.in_scale * self.spread(factors, tail)


class _Ties:
    """Sets of tensors that keep one factor (union-find)."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def root(self, tensor: str) -> str:
        while (parent := self._parent.setdefault(tensor, tensor)) != tensor:
            self._parent[tensor] = tensor = self._parent[parent]
        return tensor

    def tie(self, tensors: Iterable[str]) -> None:
        first, *others = tensors
        for other in others:
            self._parent[self.root(other)] = self.root(first)


def scale_groups(graph: Graph, context: Context) -> list[ScaleGroup]:
    """All groups of the graph, front to back."""
    ties, fixed = _Ties(), {*graph.inputs, *graph.outputs}
    layers: list[Layer] = []
    clips: list[NodeProto] = []
    for node in graph.sorted():
        if _is_layer(graph, context, node):
            layers.append(Layer(graph, node))
        elif _passes(graph, node):
            data = [name for name in node.input if name and not graph.is_constant(name)]
            ties.tie([node.output[0], *data] if node.op_type == "Add" else [node.output[0], node.input[0]])
            if node.op_type == "Clip" and limit_of(graph, node) is not None:
                clips.append(node)
        else:
            fixed.update(graph.reads(node), node.output)
    return _grouped(graph, ties, {ties.root(tensor) for tensor in fixed}, layers, clips)


def _grouped(
    graph: Graph, ties: _Ties, fixed: set[str], layers: list[Layer], clips: list[NodeProto]
) -> list[ScaleGroup]:
    found: dict[str, ScaleGroup] = {}
    for layer in layers:
        root = ties.root(layer.node.output[0])
        if root not in fixed:
            group = found.setdefault(root, ScaleGroup())
            group.heads.append(layer)
            group.tensors.append(_quantized(graph, layer.node.output[0]))
    for layer in layers:
        if (tail_of := found.get(ties.root(layer.node.input[0]))) is not None:
            tail_of.tails.append(layer)
            tail_of.tensors.append(layer.node.input[0])
    for clip in clips:
        if (clipped := found.get(ties.root(clip.input[0]))) is not None:
            clipped.clips.append(clip)
    for group in found.values():
        group.tensors = list(dict.fromkeys(group.tensors))
    return [group for group in found.values() if group.fits()]


def _quantized(graph: Graph, tensor: str) -> str:
    """What is quantized of a layer's output: the result of a Relu or a Clip that alone reads it."""
    reader = graph.sole_consumer(tensor)
    return tensor if reader is None or reader.op_type not in CLAMP_OPS else reader.output[0]


def _is_layer(graph: Graph, context: Context, node: NodeProto) -> bool:
    if node.domain not in DEFAULT_DOMAINS or node.op_type not in WITH_BIAS:
        return False
    if graph.is_constant(node.input[0]) or attribute(node, "transA", 0):
        return False
    return context.refusal(node) is None and why_not(graph, node) is None


def _passes(graph: Graph, node: NodeProto) -> bool:
    """Whether a node gives channels with a factor where it reads such."""
    if node.domain not in DEFAULT_DOMAINS:
        return False
    if node.op_type == "Add":
        shapes = [graph.static_shape(name) or graph.shape(name) for name in node.input]
        return not any(graph.is_constant(name) for name in node.input) and _one_channel_axis(shapes)
    if node.op_type == "Clip" and limit_of(graph, node) is not None:
        return True
    if node.op_type in FLATTENING:
        return flattens(graph, node)
    return node.op_type in HOMOGENEOUS and HOMOGENEOUS[node.op_type](graph, node)


def _one_channel_axis(shapes: Iterable[tuple[int | str | None, ...] | None]) -> bool:
    """Whether tensors of these shapes are added channel by channel."""
    known = list(shapes)
    ranks = {len(shape) for shape in known if shape is not None}
    return None not in known and len(ranks) == 1 and ranks.pop() > 1 and len({s[1] for s in known if s}) == 1
