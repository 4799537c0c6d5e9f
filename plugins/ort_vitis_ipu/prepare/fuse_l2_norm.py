"""Dividing by the Euclidean length along an axis is LpNormalization.

    x / sqrt(max(sum(x^2), eps))  ->  LpNormalization(x, p = 2, axis)

also with sum(x^2) + eps, with ReduceSumSquare, with ReduceL2 and max(|x|, e), with Reciprocal and Mul, with Expand.
LpNormalization has no eps: where eps is above 1e-6 the pattern stays. Outputs agree within 1e-5 of their largest
value where sum(x^2) >= 0.1.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass

from onnx import NodeProto, TensorProto

from ort_vitis_plugin.api import (
    Context,
    Graph,
    Stage,
    become,
    clip_bounds,
    discard,
    inverse_of,
    is_closed,
    made_by,
    reduced_axes,
    square_of,
    transform,
    with_constant,
)

LARGEST_EPSILON = 1e-6


@dataclass
class Length:
    """sqrt(sum(x^2)) along one axis, no smaller than sqrt(epsilon)."""

    x: str
    axis: int
    epsilon: float
    nodes: list[NodeProto]


def _floored(graph: Graph, tensor: str) -> tuple[str, float, list[NodeProto]]:
    """t and e where ``tensor`` is max(t, e), Clip(t, e) or t + e; else the tensor itself and 0."""
    node = made_by(graph, tensor, "Max", "Add", "Clip")
    parts: tuple[str, float] | None = None
    if node is not None and node.op_type == "Clip":
        low, high = clip_bounds(graph, node)
        parts = (node.input[0], low) if low is not None and high == float("inf") else None
    elif node is not None:
        parts = with_constant(graph, node)
    return (*parts, [node]) if node is not None and parts is not None else (tensor, 0.0, [])


def _sum_of_squares(graph: Graph, tensor: str) -> tuple[str, NodeProto, list[NodeProto]] | None:
    """x, the node that sums, and all nodes."""
    node = made_by(graph, tensor, "ReduceSum", "ReduceSumSquare")
    if node is None:
        return None
    if node.op_type == "ReduceSumSquare":
        return node.input[0], node, [node]
    squared = square_of(graph, node.input[0])
    return (squared[0], node, [node, squared[1]]) if squared is not None else None


def length_of(graph: Graph, tensor: str) -> Length | None:
    """The length that a tensor is, if it is one."""
    tensor, low, nodes = _floored(graph, tensor)
    # Beside |x|, max(|x|, e) is felt below e only; |x| + e everywhere, by e / |x|.
    floor = low if nodes and nodes[0].op_type == "Add" else low * low
    direct = made_by(graph, tensor, "ReduceL2")
    root = made_by(graph, tensor, "Sqrt")
    if direct is not None:
        x, summing, epsilon = direct.input[0], direct, floor
        nodes.append(direct)
    elif root is not None:
        inside, epsilon, more = _floored(graph, root.input[0])
        found = _sum_of_squares(graph, inside)
        if found is None:
            return None
        x, summing = found[0], found[1]
        nodes += [root, *more, *found[2]]
        epsilon = max(epsilon, floor)
    else:
        return None
    axes = reduced_axes(graph, summing)
    return Length(x, axes[0], epsilon, nodes) if axes is not None and len(axes) == 1 else None


def _expanded(graph: Graph, tensor: str, x: str) -> tuple[str, list[NodeProto]]:
    """The tensor before it is expanded to the shape of x."""
    node = made_by(graph, tensor, "Expand")
    shape = made_by(graph, node.input[1], "Shape") if node is not None else None
    if node is None or shape is None or shape.input[0] != x or shape.attribute:
        return tensor, []
    return node.input[0], [node, shape] if len(graph.consumers(shape.output[0])) == 1 else [node]


def match_l2_norm(graph: Graph, node: NodeProto) -> Length | None:
    """x / length in one of its spellings."""
    pairs = [(node.input[0], node.input[1])]
    if node.op_type == "Mul":
        pairs.append((node.input[1], node.input[0]))
    for x, other in pairs:
        inner: list[NodeProto] = []
        if node.op_type == "Mul":
            inverse = inverse_of(graph, other)
            if inverse is None:
                continue
            other, inner = inverse[0], [inverse[1]]
        other, expansion = _expanded(graph, other, x)
        length = length_of(graph, other)
        if length is not None and length.x == x:
            length.nodes += inner + expansion
            return length
    return None


@transform("FuseL2Norm", stage=Stage.PREPARE, default=False, target="ipu_cnn", before=("FloatSpectrum",))
def fuse_l2_norm(graph: Graph, context: Context) -> int:
    """Fuse a division by the Euclidean length into LpNormalization."""
    rewrites = 0
    for node in graph.of_type("Div", "Mul"):
        found = match_l2_norm(graph, node) if id(node) in graph.nodes else None
        if found is None:
            continue
        reason = context.refusal(node, any_type=True)
        if graph.element_type(found.x) not in (0, TensorProto.FLOAT, TensorProto.DOUBLE):
            reason = "LpNormalization takes float and double"
        elif found.epsilon > LARGEST_EPSILON:
            reason = f"LpNormalization has no epsilon, and {found.epsilon:g} is too large to leave out"
        elif not is_closed(graph, found.nodes, node):
            reason = "a tensor inside the norm has other readers"
        if reason is not None:
            graph.skip(node, reason)
            continue
        discard(graph, found.nodes)
        become(graph, node, "LpNormalization", [found.x], axis=found.axis, p=2)
        rewrites += 1
    return rewrites
