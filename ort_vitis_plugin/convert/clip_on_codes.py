"""Quantizing keeps the order, so a clamp may follow it: Q(clip(v, low, high)) = clip(Q(v), Q(low), Q(high))."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ort_vitis_plugin.graph.clip_limits import clip_limits
from ort_vitis_plugin.graph.op_sets import CLAMP_OPS
from ort_vitis_plugin.graph.opsets import CLIP_ON_CODES_OPSET

from .code_grid import Grid, clear_unread, constant_values, grid_behind, grid_of, is_native_quantize, sole_quantizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnx import NodeProto

    from ort_vitis_plugin.graph import Graph

_ON_CODES = {"Conv": 2, "Gemm": 2, "MatMul": 2, "Add": 2, "Mul": 2}  # and how many of the inputs have to be codes


def merge_equal_quantizers(graph: Graph) -> int:
    """One quantize node where several give the same codes of a tensor; how many went."""
    count = 0
    for node in graph:
        if not is_native_quantize(node) or id(node) not in graph.nodes:
            continue
        grid = grid_of(graph, node)
        for other in graph.consumers(node.input[0]):
            if other is node or not is_native_quantize(other) or other.output[0] in graph.outputs:
                continue
            if grid is not None and grid.is_same(grid_of(graph, other)):
                graph.replace_uses(other.output[0], node.output[0])
                graph.remove(other)
                count += 1
    return count


def _is_computed_on_codes(graph: Graph, tensor: str) -> bool:
    """Whether a tensor comes from an operator that onnxruntime computes on codes if a quantize node follows."""
    node = graph.producer(tensor)
    while node is not None and node.op_type in CLAMP_OPS and graph.sole_consumer(node.input[0]) is node:
        node = graph.producer(node.input[0])
    if node is None or node.op_type not in _ON_CODES:
        return False
    grids = [grid_behind(graph, name) for name in node.input[: _ON_CODES[node.op_type]]]
    return all(grid is not None and grid.is_eight_bit_shift for grid in grids)


def _limits(graph: Graph, clamp: NodeProto) -> list[float | None]:
    """The limits of a Relu or Clip, those behind dequantize nodes included; NaN where one is computed."""
    limits = list(clip_limits(graph, clamp))
    for number, end in enumerate(limits):
        if end is not None and math.isnan(end):
            values = constant_values(graph, clamp.input[number + 1])
            limits[number] = end if values is None or values.size != 1 else float(values.item())
    return limits


def _clamped(limits: Sequence[float | None], grid: Grid) -> tuple[int, int]:
    """The limits as codes."""
    low, high = (end if end is None else grid.code(end) for end in limits)
    least, largest = grid.limits
    return least if low is None else low, largest if high is None else high


def _swap(graph: Graph, clamp: NodeProto, quantizer: NodeProto, low: int, high: int, grid: Grid) -> None:
    source, codes = clamp.input[0], quantizer.output[0]
    if graph.opset < CLIP_ON_CODES_OPSET:  # a pair in front of the clamp does the same
        before, rounded = graph.unique(f"{source}_codes"), graph.unique(f"{source}_rounded")
        parameters = list(quantizer.input[1:])
        graph.make("QuantizeLinear", [source, *parameters], [before], f"{source}_QuantizeLinear")
        graph.make("DequantizeLinear", [before, *parameters], [rounded], f"{source}_DequantizeLinear")
        graph.set_inputs(clamp, [rounded, *clamp.input[1:]])
        return
    unclamped = graph.unique(f"{source}_codes")
    graph.remove(clamp)
    graph.set_inputs(quantizer, [source, *quantizer.input[1:]])
    if (low, high) == grid.limits:
        return
    graph.set_outputs(quantizer, [unclamped])
    graph.describe(unclamped, grid.element_type, graph.shape(source))
    ends = [
        graph.add_initializer(f"{codes}_{key}", np.array(end, grid.dtype))
        for key, end in zip(("min", "max"), (low, high), strict=True)
    ]
    graph.make("Clip", [unclamped, *ends], [codes], clamp.name or f"{codes}_Clip")


def _is_moved(graph: Graph, clamp: NodeProto) -> bool:
    if not clamp.input or graph.sole_consumer(clamp.input[0]) is not clamp:
        return False
    if not _is_computed_on_codes(graph, clamp.input[0]):
        return False
    quantizer = sole_quantizer(graph, clamp.output[0])
    grid = grid_of(graph, quantizer)
    if quantizer is None or grid is None or grid.axis is not None or not grid.is_eight_bit_shift:
        graph.skip(clamp, "its output does not go to one 8-bit QuantizeLinear alone")
        return False
    limits = _limits(graph, clamp)
    if any(end is not None and math.isnan(end) for end in limits):
        graph.skip(clamp, "its limits are computed")
        return False
    low, high = _clamped(limits, grid)
    if low > high:
        graph.skip(clamp, "its lower limit is above its upper one")
        return False
    _swap(graph, clamp, quantizer, low, high, grid)
    return True


def clip_codes(graph: Graph) -> int:
    """Let every Relu and Clip between an integer kernel and its quantize node clamp the codes instead; how many."""
    count = sum(_is_moved(graph, node) for node in reversed(graph.sorted()) if node.op_type in CLAMP_OPS)
    clear_unread(graph)
    return count
