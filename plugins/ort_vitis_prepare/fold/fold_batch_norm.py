"""A normalization behind a Conv, ConvTranspose, Gemm or MatMul is part of its weights.

    a = gamma / sqrt(var + epsilon)
    w' = a w,  b' = a (b - mean) + beta          per output channel

Computed in float64 and rounded once; outputs agree within 1e-5 of the tensor's largest value.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import NodeProto, helper

from ort_vitis_plugin.api import (
    DEFAULT_DOMAINS,
    PRODUCTS,
    Context,
    Graph,
    Stage,
    attribute,
    batch_norm_affine,
    become,
    constant,
    has_input,
    store,
    transform,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Channel = NDArray[np.float64]

HEADS = PRODUCTS | {"Add"}


def _conv(graph: Graph, node: NodeProto, w: NDArray[Any], a: Channel, c: Channel) -> str | None:
    """Conv has w[out, in/group, ...]; ConvTranspose w[in, out/group, ...], grouped along the first axis."""
    if node.op_type == "Conv":
        if w.shape[0] != a.size:
            return "channels do not match"
        scaled = w * a.reshape(-1, *[1] * (w.ndim - 1))
    else:
        group = attribute(node, "group", 1)
        if w.shape[1] * group != a.size or w.shape[0] % group:
            return "channels do not match"
        grouped = w.reshape(group, w.shape[0] // group, *w.shape[1:])
        scaled = (grouped * a.reshape(group, 1, -1, *[1] * (w.ndim - 2))).reshape(w.shape)
    b: Any = 0.0
    if has_input(node, 2):
        b = constant(graph, node.input[2])
        if b is None:
            return f"the bias of {node.name or node.op_type} is not constant"
    store(graph, node, 1, scaled.astype(w.dtype))
    store(graph, node, 2, (a * b + c).astype(w.dtype))
    return None


def _gemm(graph: Graph, node: NodeProto, w: NDArray[Any], a: Channel, c: Channel) -> str | None:
    """y = alpha x w + beta b, so that b' = a b + c / beta."""
    transposed = attribute(node, "transB", 0)
    if w.shape[0 if transposed else 1] != a.size:
        return "channels do not match"
    beta = attribute(node, "beta", 1.0)
    bias = c
    if has_input(node, 2) and beta != 0.0:
        b = constant(graph, node.input[2])
        if b is None:
            return f"the bias of {node.name or node.op_type} is not constant"
        bias = b * a + c / beta
    elif beta != 1.0:
        kept = [entry for entry in node.attribute if entry.name != "beta"]
        del node.attribute[:]
        node.attribute.extend([*kept, helper.make_attribute("beta", 1.0)])
    store(graph, node, 1, (w * (a[:, None] if transposed else a)).astype(w.dtype))
    store(graph, node, 2, bias.astype(w.dtype))
    return None


def _matmul_weight(graph: Graph, node: NodeProto, channels: int) -> NDArray[Any] | None:
    """The weight of x[rows, in] @ w[in, channels]; a normalization's channel is axis 1, so x must be a matrix."""
    w = constant(graph, node.input[1])
    shape = graph.shape(node.input[0]) or graph.shape(node.output[0])
    return w if w is not None and w.ndim == 2 and w.shape[1] == channels and shape and len(shape) == 2 else None


def _matmul(graph: Graph, node: NodeProto, norm: NodeProto, a: Channel, c: Channel) -> str | None:
    """MatMul has no bias: the normalization becomes Add(c)."""
    w = _matmul_weight(graph, node, a.size)
    if w is None:
        return "the MatMul in front is no product of a matrix and constant weights"
    store(graph, node, 1, (w * a).astype(w.dtype))
    shift = graph.add_initializer(f"{norm.output[0]}_bias", c.astype(w.dtype))
    become(graph, norm, "Add", [norm.input[0], shift])
    return None


def _add(graph: Graph, add: NodeProto, a: Channel, c: Channel) -> str | None:
    """MatMul and a constant Add: both are scaled."""
    for bias_at in (0, 1):
        b, matmul = constant(graph, add.input[bias_at]), graph.producer(add.input[1 - bias_at])
        if b is None or matmul is None or matmul.op_type != "MatMul" or b.ndim > 2:
            continue
        if graph.sole_consumer(matmul.output[0]) is not add:
            return "the MatMul in front has other readers"
        w = _matmul_weight(graph, matmul, a.size)
        if w is None or (b.size > 1 and b.shape[-1] not in (1, a.size)):
            return "the MatMul in front is no product of a matrix and constant weights"
        store(graph, matmul, 1, (w * a).astype(w.dtype))
        store(graph, add, bias_at, (b * a + c).astype(w.dtype))
        return None
    return "the Add in front is not a MatMul's bias"


def _fold(graph: Graph, norm: NodeProto, head: NodeProto) -> str | None:
    """Fold ``norm`` into ``head`` and return nothing, or why not."""
    parameters = batch_norm_affine(graph, norm)
    if isinstance(parameters, str):
        return parameters
    if graph.sole_consumer(norm.input[0]) is not norm:
        return f"the tensor in front, {norm.input[0]}, has other readers"
    a, c = parameters
    if head.op_type == "MatMul":
        return _matmul(graph, head, norm, a, c)
    if head.op_type == "Add":
        reason = _add(graph, head, a, c)
    else:
        w = constant(graph, head.input[1])
        if w is None:
            return f"the weights of {head.name or head.op_type} are not constant"
        reason = (_gemm if head.op_type == "Gemm" else _conv)(graph, head, w, a, c)
    if reason is None:
        output = norm.output[0]
        graph.remove(norm)
        graph.set_outputs(head, [output])
    return reason


@transform("FoldBatchNorm", stage=Stage.PREPARE)
def fold_batch_norm(graph: Graph, context: Context) -> int:
    """Fold BatchNormalization into the Conv, ConvTranspose, Gemm or MatMul in front of it."""
    rewrites = 0
    for norm in graph.of_type("BatchNormalization"):
        head = graph.producer(norm.input[0])
        if head is None or head.domain not in DEFAULT_DOMAINS or head.op_type not in HEADS:
            continue
        reason = context.refusal(norm, any_type=True) or _fold(graph, norm, head)
        if reason is None:
            rewrites += 1
        else:
            graph.skip(norm, reason)
    return rewrites
