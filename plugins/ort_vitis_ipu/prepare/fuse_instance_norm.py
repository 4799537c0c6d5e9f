"""Normalizing every channel of every sample over its space is InstanceNormalization.

    mean = GAP(x),  var = GAP((x - mean)^2),  r = 1 / sqrt(var + eps)
    y = x (r gamma) + (beta - mean (r gamma))            TensorFlow
    y = (x - mean) / sqrt(var + eps) * gamma + beta      PyTorch and others; gamma and beta may be missing
    ->  InstanceNormalization(x, gamma, beta, epsilon = eps)

GAP is GlobalAveragePool, or ReduceMean over all axes behind the channels. Outputs agree within 1e-5 of their
largest value.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import NodeProto, TensorProto

from ort_vitis_plugin.api import (
    Context,
    Graph,
    Stage,
    become,
    constant,
    discard,
    inverse_of,
    is_closed,
    made_by,
    operands,
    reduced_axes,
    square_of,
    transform,
    with_constant,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass
class Match:
    """A normalization that ends in ``last``."""

    x: str
    epsilon: float
    last: NodeProto
    inner: list[NodeProto]
    gamma: NDArray[Any] | None = None
    beta: NDArray[Any] | None = None


@dataclass
class Statistics:
    """x, x - mean(x), and the nodes up to sqrt(var + eps)."""

    x: str
    centred: NodeProto
    mean: str
    epsilon: float
    nodes: list[NodeProto] = field(default_factory=list)


def _spatial_mean(graph: Graph, tensor: str) -> tuple[str, NodeProto] | None:
    """x where ``tensor`` is its mean over space, and the node that averages."""
    node = made_by(graph, tensor, "GlobalAveragePool", "ReduceMean")
    if node is None or node.op_type == "GlobalAveragePool":
        return None if node is None else (node.input[0], node)
    axes, shape = reduced_axes(graph, node), graph.shape(node.input[0])
    if not axes or shape is None or len(shape) < 3:
        return None
    return (node.input[0], node) if sorted(axis % len(shape) for axis in axes) == [*range(2, len(shape))] else None


def statistics(graph: Graph, root: NodeProto) -> Statistics | None:
    """What lies in front of a Sqrt, if it is the deviation of an instance."""
    add = made_by(graph, root.input[0], "Add")
    parts = with_constant(graph, add) if add is not None else None
    variance = _spatial_mean(graph, parts[0]) if parts is not None else None
    squared = square_of(graph, variance[0]) if variance is not None else None
    centred = made_by(graph, squared[0], "Sub") if squared is not None else None
    mean = _spatial_mean(graph, centred.input[1]) if centred is not None else None
    if add is None or parts is None or variance is None or squared is None or centred is None or mean is None:
        return None
    if mean[0] != centred.input[0]:
        return None
    nodes = [root, add, variance[1], squared[1], centred, mean[1]]
    return Statistics(mean[0], centred, centred.input[1], parts[1], nodes)


def _per_channel(graph: Graph, tensor: str, rank: int) -> NDArray[Any] | None:
    """A constant that is one number, or one per channel of rank ``rank``."""
    value = constant(graph, tensor)
    if value is None:
        return None
    padded = (1,) * (rank - value.ndim) + value.shape
    at_channel = all(size == 1 for axis, size in enumerate(padded) if axis != 1)
    return value.reshape(-1) if len(padded) == rank and at_channel else None


def _reader(graph: Graph, tensor: str, op_type: str) -> NodeProto | None:
    node = graph.sole_consumer(tensor)
    return node if node is not None and node.op_type == op_type else None


def _affine(graph: Graph, found: Match, rank: int) -> Match:
    """Take up a following Mul(gamma) and Add(beta)."""
    for op_type, name in (("Mul", "gamma"), ("Add", "beta")):
        node = _reader(graph, found.last.output[0], op_type)
        for tensor, other in operands(node) if node is not None else ():
            value = _per_channel(graph, other, rank) if tensor == found.last.output[0] else None
            if node is not None and value is not None:
                setattr(found, name, value)
                found.inner.append(found.last)
                found.last = node
                break
    return found


def _scaled_by(graph: Graph, inverse: NodeProto, rank: int) -> tuple[NodeProto, NDArray[Any]] | None:
    """Mul(r, gamma) behind the inverse deviation."""
    node = _reader(graph, inverse.output[0], "Mul")
    for tensor, other in operands(node) if node is not None else ():
        gamma = _per_channel(graph, other, rank) if tensor == inverse.output[0] else None
        if node is not None and gamma is not None:
            return node, gamma
    return None


def _product(graph: Graph, factor: str, tensor: str) -> NodeProto | None:
    """The Mul of two tensors."""
    for node in graph.consumers(factor):
        if node.op_type == "Mul" and sorted(node.input) == sorted((factor, tensor)):
            return node
    return None


def _tensorflow(graph: Graph, known: Statistics, inner: list[NodeProto], factor: NodeProto, rank: int) -> Match | None:
    """x m + (beta - mean m), m being ``factor``'s output."""
    m = factor.output[0]
    of_x, of_mean = _product(graph, m, known.x), _product(graph, m, known.mean)
    shift = _reader(graph, of_mean.output[0], "Sub") if of_mean is not None else None
    last = _reader(graph, shift.output[0], "Add") if shift is not None else None
    if of_x is None or of_mean is None or shift is None or last is None:
        return None
    beta = _per_channel(graph, shift.input[0], rank)
    if beta is None or shift.input[1] != of_mean.output[0] or of_x.output[0] not in last.input:
        return None
    return Match(known.x, known.epsilon, last, [*inner, of_x, of_mean, shift], beta=beta)


def match_instance_norm(graph: Graph, root: NodeProto) -> Match | None:
    """The normalization around a Sqrt in one of its spellings."""
    known = statistics(graph, root)
    shape = graph.shape(known.x) if known is not None else None
    if known is None or shape is None or len(shape) < 3:
        return None
    reader = graph.sole_consumer(root.output[0])
    if reader is None:
        return None
    if reader.op_type == "Div" and list(reader.input) == [known.centred.output[0], root.output[0]]:
        return _affine(graph, Match(known.x, known.epsilon, reader, known.nodes), len(shape))
    inverse = inverse_of(graph, reader.output[0])
    if inverse is None or inverse[0] != root.output[0]:
        return None
    inner = [*known.nodes, reader]
    scaled = _scaled_by(graph, reader, len(shape))
    factor, gamma = scaled if scaled is not None else (reader, None)
    if scaled is not None:
        inner = [*inner, factor]
    direct = _product(graph, factor.output[0], known.centred.output[0])
    if direct is not None:
        found = _affine(graph, Match(known.x, known.epsilon, direct, inner), len(shape))
        if gamma is not None and found.gamma is not None:
            return None
    else:
        other = _tensorflow(graph, known, inner, factor, len(shape))
        if other is None:
            return None
        found = other
    found.gamma = gamma if gamma is not None else found.gamma
    return found


def _channels(graph: Graph, found: Match) -> int | None:
    """How many channels there are: from the shape, else from gamma or beta."""
    shape = graph.shape(found.x)
    if shape is not None and isinstance(shape[1], int):
        return shape[1]
    sizes = [value.size for value in (found.gamma, found.beta) if value is not None and value.size > 1]
    return sizes[0] if sizes else None


@transform("FuseInstanceNorm", stage=Stage.PREPARE, default=False, target="ipu_cnn", before=("FloatSpectrum",))
def fuse_instance_norm(graph: Graph, context: Context) -> int:
    """Fuse a normalization over the space of each channel into InstanceNormalization."""
    rewrites = 0
    for root in graph.of_type("Sqrt"):
        found = match_instance_norm(graph, root)
        if found is None:
            continue
        reason = context.refusal(found.last, any_type=True)
        channels = _channels(graph, found)
        if channels is None:
            reason = "the number of channels is unknown"
        elif graph.element_type(found.x) not in (0, TensorProto.FLOAT):
            reason = "InstanceNormalization takes float"
        elif not is_closed(graph, found.inner, found.last):
            reason = "a tensor inside the normalization has other readers"
        if reason is not None or channels is None:
            graph.skip(root, reason or "")
            continue
        output = found.last.output[0]
        parameters = []
        for name, value, default in (("scale", found.gamma, 1.0), ("bias", found.beta, 0.0)):
            filled = np.broadcast_to(default if value is None else value, (channels,)).astype(np.float32)
            parameters.append(graph.add_initializer(f"{output}_{name}", filled))
        discard(graph, found.inner)
        become(graph, found.last, "InstanceNormalization", [found.x, *parameters], epsilon=found.epsilon)
        rewrites += 1
    return rewrites
