"""A layer is a matrix of channels: w[out, in] per group, whatever the operator calls its axes.

    Conv            w[out, in/group, k...]
    ConvTranspose   w[in, out/group, k...]
    Gemm            w[in, out], transB: w[out, in]

Equalizing multiplies rows by ``out_scale`` and divides columns by ``in_scale``. The weights are not touched until the
end: a sweep passes over [out, in], whatever the kernel, and weights are rounded once, however many sweeps there are.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import NodeProto

from ort_vitis_plugin.api import Graph, attribute, constant, has_input, store

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Channels = NDArray[np.float64]

SAMPLED = 1 << 16  # weights that are looked at to judge how large biases are beside them


def canonical(node: NodeProto, w: NDArray[Any]) -> NDArray[Any]:
    """w as [group, out/group, in/group, kernel]."""
    if node.op_type == "Gemm":
        matrix = w if attribute(node, "transB", 0) else w.T
        return matrix.reshape(1, *matrix.shape, 1)
    group = int(attribute(node, "group", 1))
    grouped = w.reshape(group, w.shape[0] // group, w.shape[1], -1)
    return grouped if node.op_type == "Conv" else grouped.swapaxes(1, 2)


def stored(node: NodeProto, w: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """The inverse of ``canonical``."""
    if node.op_type == "Gemm":
        matrix = w.reshape(w.shape[1], w.shape[2])
        return matrix if attribute(node, "transB", 0) else matrix.T
    return (w if node.op_type == "Conv" else w.swapaxes(1, 2)).reshape(shape)


def why_not(graph: Graph, node: NodeProto) -> str | None:
    """Why the weights of a Conv, ConvTranspose or Gemm cannot be scaled, or None."""
    w = constant(graph, node.input[1])
    if w is None:
        return "its weights are not constant"
    if graph.sole_consumer(node.input[1]) is not node:
        return "its weights are shared"
    if w.dtype.kind != "f" or not np.isfinite(w).all():
        return "its weights are not finite floats"
    if w.size == 0 or w.ndim < 2 or w.shape[0] % int(attribute(node, "group", 1)):
        return "its weights have no channels"
    if has_input(node, 2):
        b = constant(graph, node.input[2])
        if b is None:
            return "its bias is not constant"
        if b.ndim > 2 or not np.isfinite(b).all():
            return "its bias is not finite, or not one per channel"
    return None


class Layer:
    """The channels of one node: max and mean |w| over the kernel, and the scales to come."""

    def __init__(self, graph: Graph, node: NodeProto) -> None:
        self.node = node
        w = constant(graph, node.input[1])
        assert w is not None
        self.shape = w.shape
        magnitude = np.abs(canonical(node, w).astype(np.float32, copy=False))
        self.peak = magnitude.max(axis=3, initial=0.0)
        self.mean = magnitude.mean(axis=3)
        self.group, self.out_per_group, self.in_per_group = self.peak.shape
        self.outputs, self.inputs = self.group * self.out_per_group, self.group * self.in_per_group
        self.out_scale: Channels = np.ones(self.outputs)
        self.in_scale: Channels = np.ones(self.inputs)
        self.bias = self._bias(graph)

    def _bias(self, graph: Graph) -> Channels | None:
        """|b| of every output channel, a Gemm's in units of its product."""
        node = self.node
        if len(node.input) < 3 or not node.input[2]:
            return None
        b = np.asarray(constant(graph, node.input[2]), dtype=np.float64)
        rows = np.abs(np.broadcast_to(b, (b.shape[0] if b.ndim == 2 else 1, self.outputs)))
        bias: Channels = rows.max(axis=0, initial=0.0)
        alpha = attribute(node, "alpha", 1.0)
        factor = abs(float(attribute(node, "beta", 1.0)) / float(alpha)) if alpha else 1.0
        return bias * factor

    @property
    def depthwise(self) -> bool:
        """Whether output channel i reads input channel i and nothing else."""
        return bool(self.out_per_group == self.in_per_group == 1)

    def row_range(self, *, append_bias: bool) -> Channels:
        """max |w| of every output channel; with the bias, |b| / k counts too."""
        columns = (1.0 / self.in_scale).astype(np.float32).reshape(self.group, 1, -1)
        peak = self.peak * columns
        rows: Channels = peak.max(axis=2).reshape(-1).astype(np.float64)
        if append_bias and self.bias is not None:
            k = bias_divisor(peak.reshape(self.outputs, -1), self.bias, self.out_scale)
            rows = np.maximum(rows, self.bias / k)
        return rows * self.out_scale

    def column_range(self, repeat: int) -> Channels:
        """max |w| of every input channel, of which each fills ``repeat`` columns."""
        rows = self.out_scale.astype(np.float32).reshape(self.group, -1, 1)
        columns = (self.peak * rows).max(axis=1).reshape(-1) / self.in_scale
        return np.asarray(columns.reshape(-1, repeat).max(axis=1), dtype=np.float64)

    def change(self, out_scale: Channels, in_scale: Channels) -> float:
        """Mean |dw| since those scales, or a little more.

        |o' i' - o i| <= |o' - o| i' + o |i' - i|, i being the inverse scale of a column: two products with vectors.
        """
        shape = (self.group, self.out_per_group), (self.group, self.in_per_group)
        o, i = out_scale.reshape(shape[0]), (1.0 / in_scale).reshape(shape[1])
        new_o, new_i = self.out_scale.reshape(shape[0]), (1.0 / self.in_scale).reshape(shape[1])
        total = 0.0
        for rows, columns in ((np.abs(new_o - o), new_i), (o, np.abs(new_i - i))):
            products = np.matmul(self.mean, columns.astype(np.float32)[:, :, None])[:, :, 0]
            total += float(np.sum(rows * products))
        return total / float(self.mean.size)

    def write(self, graph: Graph) -> None:
        """Store the scaled weights and bias, rounded once."""
        node = self.node
        w = constant(graph, node.input[1])
        assert w is not None
        rows = self.out_scale.reshape(self.group, -1, 1, 1)
        columns = self.in_scale.reshape(self.group, 1, -1, 1)
        scaled = canonical(node, w).astype(np.float64) * rows / columns
        store(graph, node, 1, stored(node, scaled, self.shape).astype(w.dtype))
        if self.bias is not None:
            b = constant(graph, node.input[2])
            assert b is not None
            store(graph, node, 2, (b * self.out_scale).astype(b.dtype))


def bias_divisor(w: NDArray[np.float32], b: Channels, scale: Channels) -> float:
    """k in {2, 5, 10, 20}: the larger biases are beside the weights, the less they count (the original's table)."""
    step = -(-w.size // SAMPLED)
    w, rows = w.reshape(-1)[::step], np.arange(0, w.size, step) // w.shape[1]
    used = w > 0
    if not used.any():
        return 2.0
    ratios = b[rows[used]] / w[used]
    median, mean = float(np.median(ratios)), float(ratios.mean())
    largest, widest = float((b * scale).max()), float((w * scale[rows]).max())
    if largest < 10 and largest / widest < 20:
        return 5.0 if median > 100 or mean > 1000 else 2.0
    if median > 30 or mean > 500:
        return 20.0
    return 10.0 if median > 15 or mean > 100 else 5.0
