"""A bias that is a whole number of steps of the products is exact as int32, the one type that integer kernels add.

bias = code * 2^-bpos = (code << (xpos + wpos - bpos)) * 2^-(xpos + wpos) wherever bpos <= xpos + wpos, and beyond where
the codes' last bits are zero.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto

from ort_vitis_plugin.graph import Graph, attribute
from ort_vitis_plugin.numerics.quantize import along

from .code_grid import Grid, clear_unread, constant_values, grid_behind

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import NodeProto

_OWNERS = ("Conv", "Gemm")
LARGEST = 2.0**24  # float32 adds whole numbers up to here without rounding, as int32 does


def product_steps(graph: Graph, node: NodeProto) -> NDArray[np.float64] | None:
    """The step of the products of a Conv or Gemm, or one for each output channel; None where they are no 8-bit shifts.

    None, too, for a Gemm that multiplies by alpha or beta.
    """
    if node.op_type == "Gemm" and (attribute(node, "alpha", 1.0), attribute(node, "beta", 1.0)) != (1.0, 1.0):
        return None
    x, w = grid_behind(graph, node.input[0]), grid_behind(graph, node.input[1])
    if x is None or w is None or x.axis is not None or not (x.is_eight_bit_shift and w.is_eight_bit_shift):
        return None
    outputs = 0 if node.op_type == "Conv" or attribute(node, "transB", 0) else 1
    if w.axis is not None and w.axis % (len(graph.shape(node.input[1]) or ()) or 2) != outputs:
        return None
    return x.scale.astype(np.float64) * w.scale


def sum_limits(graph: Graph, node: NodeProto) -> NDArray[np.float64] | None:
    """What no sum of products exceeds, by output channel, in steps: the codes of the weight times the farthest of x.

    None where an operand is no 8-bit codes, or the weight is not constant.
    """
    x, w = grid_behind(graph, node.input[0]), grid_behind(graph, node.input[1])
    dequantizer = graph.producer(node.input[1])
    codes = graph.array(dequantizer.input[0]) if w is not None and dequantizer is not None else None
    if x is None or w is None or codes is None or codes.ndim < 2:
        return None
    sizes = np.abs(codes.astype(np.float64) - along(w.zero_point, codes.ndim, w.axis))
    farthest = max(abs(end - int(zero)) for end in x.limits for zero in x.zero_point.flat)
    if node.op_type == "MatMul":
        return np.asarray(sizes.sum(axis=-2).reshape(-1) * farthest)
    axis = 0 if node.op_type == "Conv" or attribute(node, "transB", 0) else 1
    return np.asarray(sizes.sum(axis=tuple(each for each in range(codes.ndim) if each != axis)) * farthest)


def _fits(grid: Grid | None, steps: NDArray[np.float64]) -> bool:
    """Whether the bias is int32 in the steps of the products as it is."""
    return (
        grid is not None
        and grid.element_type == TensorProto.INT32
        and np.array_equal(np.broadcast_to(grid.scale, steps.shape), steps)
    )


def _rewrite(graph: Graph, node: NodeProto, steps: NDArray[np.float64]) -> bool:
    tensor = node.input[2]
    values = constant_values(graph, tensor)
    if values is None:
        graph.skip(node, "its bias is not constant")
        return False
    counts = values.astype(np.float64) / steps
    if not (counts == np.rint(counts)).all():
        return False
    if np.abs(counts).max(initial=0.0) > LARGEST:
        graph.skip(node, "its bias is too large beside its products for sums without rounding")
        return False
    codes = graph.add_initializer(f"{tensor}_int32", counts.astype(np.int32))
    scale = graph.add_initializer(f"{codes}_scale", steps.astype(np.float32))
    zero = graph.add_initializer(f"{codes}_zero_point", np.zeros(steps.shape, np.int32))
    axis = {"axis": values.ndim - 1} if steps.ndim else {}
    output = graph.unique(f"{codes}_DequantizeLinear_Output")
    graph.make("DequantizeLinear", [codes, scale, zero], [output], f"{codes}_DequantizeLinear", **axis)
    graph.set_inputs(node, [*node.input[:2], output])
    return True


def widen_biases(graph: Graph) -> int:
    """Give every Conv and Gemm on 8-bit power-of-two codes its bias as int32 in steps of the products; how many."""
    count = 0
    for node in graph.of_type(*_OWNERS):
        if len(node.input) < 3 or not node.input[2]:
            continue
        steps = product_steps(graph, node)
        if steps is None or _fits(grid_behind(graph, node.input[2]), steps):
            continue
        count += _rewrite(graph, node, steps)
    clear_unread(graph)
    return count
