"""Layers that follow each other with nothing in between that would notice a positive factor per channel.

f is positively homogeneous when f(s x) = s f(x) for s > 0: Relu, LeakyRelu, PRelu, pooling, zero padding, reshaping.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from onnx import NodeProto

from ort_vitis_plugin.api import (
    DEFAULT_DOMAINS,
    WITH_BIAS,
    Context,
    Graph,
    attribute,
    clip_bounds,
    constant,
    has_input,
    integers,
    scalar,
)

from .layer import Layer, why_not
from .options import EqualizationOptions

INFINITY = float("inf")
FLATTENING = ("Flatten", "Reshape")


@dataclass(frozen=True)
class Seam:
    """Output channel i of ``head`` is read as columns i * repeat ... of ``tail``; ``clips`` to a limit lie between."""

    head: Layer
    tail: Layer
    repeat: int
    clips: tuple[NodeProto, ...] = ()


class Reached(NamedTuple):
    """The layer that reads another, whether a flattening lies between, and what clips there to a limit."""

    reader: NodeProto
    flat: bool
    clips: tuple[NodeProto, ...]


def _always(graph: Graph, node: NodeProto) -> bool:
    return True


def _one_output(graph: Graph, node: NodeProto) -> bool:
    return not any(node.output[1:])


def _clip(graph: Graph, node: NodeProto) -> bool:
    """Only a Clip that is Relu."""
    return clip_bounds(graph, node) == (0.0, INFINITY)


def _pad(graph: Graph, node: NodeProto) -> bool:
    """Zeros, or copies of the same channel; batch and channels are not padded."""
    pads = integers(graph, node, "pads", 1)
    if pads is None:
        return False
    if has_input(node, 3):
        axes = integers(graph, node, "axes", 3)
        if axes is None or min(axes) < 0:
            return False
    else:
        axes = list(range(len(pads) // 2))
    if any(pads[at] or pads[at + len(axes)] for at, axis in enumerate(axes) if axis < 2):
        return False
    if attribute(node, "mode", b"constant") != b"constant":
        return True
    if has_input(node, 2):
        return scalar(graph, node.input[2]) == 0.0
    return float(attribute(node, "value", 0.0)) == 0.0


def _over_space(graph: Graph, node: NodeProto) -> bool:
    """Squeeze or ReduceMean of axes behind the channels."""
    axes = integers(graph, node, "axes", 1)
    if not axes:
        return False
    shape = graph.shape(node.input[0])
    if min(axes) < 0:
        if shape is None:
            return False
        axes = [axis % len(shape) for axis in axes]
    return min(axes) > 1


HOMOGENEOUS: dict[str, Callable[[Graph, NodeProto], bool]] = {
    "Relu": _always,
    "LeakyRelu": _always,
    "PRelu": _always,
    "Identity": _always,
    "Dropout": _one_output,
    "MaxPool": _one_output,
    "AveragePool": _always,
    "GlobalAveragePool": _always,
    "GlobalMaxPool": _always,
    "Clip": _clip,
    "Pad": _pad,
    "Squeeze": _over_space,
    "ReduceMean": _over_space,
}


def flattens(graph: Graph, node: NodeProto) -> bool:
    """Whether [n, c, ...] becomes [n, c * ...]: every channel one run of columns."""
    if node.op_type == "Flatten":
        rank = len(graph.shape(node.input[0]) or ())
        axis = attribute(node, "axis", 1)
        return bool(axis == 1 or (axis < 0 and axis + rank == 1))
    target = constant(graph, node.input[1])
    shape = graph.shape(node.input[0])
    if target is None or target.size != 2 or shape is None or len(shape) < 2:
        return False
    rows, columns = (int(size) for size in target)
    if attribute(node, "allowzero", 0) and 0 in (rows, columns):
        return False
    volume: int | None = 1
    for size in shape[1:]:
        volume = volume * size if isinstance(size, int) and volume is not None else None
    if rows in (0, shape[0]):
        return columns == -1 or columns == volume
    return rows == -1 and columns == volume


def limit_of(graph: Graph, node: NodeProto) -> float | None:
    """The limit of a Clip from 0 to a finite one, such as ReLU6; None for all else."""
    low, high = clip_bounds(graph, node) if node.op_type == "Clip" else (None, None)
    return high if low == 0.0 and high is not None and 0 < high < INFINITY else None


def follow(graph: Graph, head: NodeProto, *, through_clip: bool = False) -> Reached | str:
    """The layer that reads ``head``, or why there is none."""
    node, flat = head, False
    clips: list[NodeProto] = []
    while True:
        tensor = node.output[0]
        if tensor in graph.outputs:
            return f"{tensor} is a graph output"
        reader = graph.sole_consumer(tensor)
        if reader is None:
            return f"{tensor} has {len(graph.consumers(tensor))} readers"
        if reader.domain not in DEFAULT_DOMAINS or reader.input[0] != tensor:
            return f"{tensor} ends in {reader.op_type} {reader.name}"
        if reader.op_type in WITH_BIAS:
            return Reached(reader, flat, tuple(clips))
        if through_clip and not flat and limit_of(graph, reader) is not None:
            clips.append(reader)
        elif reader.op_type in FLATTENING and not flat and flattens(graph, reader):
            flat = True
        elif flat and reader.op_type not in ("Relu", "LeakyRelu", "Identity", "Dropout"):
            return f"{reader.op_type} {reader.name} comes behind a flattening"
        elif reader.op_type not in HOMOGENEOUS or not HOMOGENEOUS[reader.op_type](graph, reader):
            return f"{reader.op_type} {reader.name} is not the same for scaled channels"
        node = reader


def seams(graph: Graph, context: Context) -> list[Seam]:
    """All places where a factor can move from one layer to the next, front to back."""
    layers: dict[int, Layer] = {}

    def layer(node: NodeProto) -> Layer | str:
        if id(node) not in layers:
            reason = context.refusal(node) or why_not(graph, node)
            if reason is not None:
                return reason
            layers[id(node)] = Layer(graph, node)
        return layers[id(node)]

    found: list[Seam] = []
    through_clip = context.options[EqualizationOptions].through_clip
    for node in graph.of_type(*WITH_BIAS):
        reached = follow(graph, node, through_clip=through_clip)
        if isinstance(reached, str):
            graph.skip(node, reached)
            continue
        head, tail = layer(node), layer(reached.reader)
        if isinstance(head, str):
            graph.skip(node, head)
        elif isinstance(tail, str):
            graph.skip(node, f"{reached.reader.op_type} {reached.reader.name} follows, but {tail}")
        elif reached.reader.op_type == "Gemm" and attribute(reached.reader, "transA", 0):
            graph.skip(node, f"{reached.reader.name} reads it transposed")
        elif tail.inputs % head.outputs or (tail.inputs != head.outputs and not reached.flat):
            graph.skip(node, f"channels of {reached.reader.name} do not match")
        else:
            found.append(Seam(head, tail, tail.inputs // head.outputs, reached.clips))
    return found
