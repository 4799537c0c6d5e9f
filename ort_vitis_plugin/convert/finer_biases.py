"""A bias with finer steps than its products decides no more than ties, which a scale larger by 2^-23 decides alike.

With a fraction f, 0 < f < 1, the sum of products n is no tie: n + f rounds up where n is one, and as n does elsewhere.
Counted from the lowest code, what is not clamped is never negative, so n * (1 + 2^-23) is above a tie n in float32, and
no other n moves by as much as a product. So: bias = floor(bias) + (zero - lowest) * 2^cut, zero point = lowest.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ort_vitis_plugin.graph import Graph, attribute, has_input
from ort_vitis_plugin.graph.opsets import AXIS_OPSET

from .code_grid import Grid, clear_unread, constant_values, grid_behind, grid_of, sole_quantizer
from .product_biases import LARGEST, product_steps, sum_limits

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import NodeProto

FINER = "its bias has finer steps than its products: int32 cannot hold it"
_ABOVE = 1 + 2.0**-23
_LARGEST_CUT = 13  # 256 * 2^-23 and a rounding are less than a product of 2^-13


@dataclass(frozen=True)
class _Site:
    """A Conv or Gemm between pairs, its numbers by output channel."""

    node: NodeProto
    quantizer: NodeProto
    codes: NDArray[Any]
    axis: int
    w: Grid
    y: Grid
    steps: NDArray[np.float64]
    counts: NDArray[np.float64]
    reach: NDArray[np.float64]


def _site(graph: Graph, node: NodeProto) -> _Site | None:
    x, w = grid_behind(graph, node.input[0]), grid_behind(graph, node.input[1])
    steps, dequantizer = product_steps(graph, node), graph.producer(node.input[1])
    quantizer = sole_quantizer(graph, node.output[0])
    y, values = grid_of(graph, quantizer), constant_values(graph, node.input[2])
    if x is None or w is None or steps is None or dequantizer is None or quantizer is None or y is None:
        return None
    codes = graph.array(dequantizer.input[0])
    limits = sum_limits(graph, node)
    if codes is None or limits is None or values is None or w.zero_point.any() or y.axis is not None or not y.is_shift:
        return None
    axis = 0 if node.op_type == "Conv" or attribute(node, "transB", 0) else 1
    channels = codes.shape[axis]
    if values.size != channels or x.element_type != y.element_type:
        return None
    steps = np.broadcast_to(steps, (channels,))
    counts = values.reshape(-1).astype(np.float64) / steps
    reach = limits + np.abs(counts)
    return _Site(node, quantizer, codes, axis, w, y, steps, counts, reach)


def _refusal(graph: Graph, site: _Site) -> str:
    """Why the bias cannot be whole; '' if it can."""
    fine = site.counts != np.rint(site.counts)
    cut = np.log2(float(site.y.scale) / site.steps)
    bits = next((bits for bits in range(24) if not (np.ldexp(site.counts, bits) % 1).any()), 24)
    shift = int(site.y.zero_point) - site.y.limits[0]
    if graph.opset < AXIS_OPSET:
        return f"{FINER}; scales per channel, which help, need opset {AXIS_OPSET}"
    if shift % 2 or (cut < 0).any() or (cut[fine] < 1).any() or (cut[fine] > _LARGEST_CUT).any():
        return FINER
    if (
        np.ldexp(site.reach, bits).max() > LARGEST
        or (site.reach + np.ldexp(float(shift), cut.astype(int))).max() > LARGEST
    ):
        return f"{FINER}, and float32 may round their sums"
    return ""


def _by_channel(graph: Graph, codes: str, scales: NDArray[Any], axis: int) -> str:
    """Constant codes dequantized with scales of their own."""
    array = graph.array(codes)
    assert array is not None
    ends = [
        graph.add_initializer(f"{codes}_scales", scales.astype(np.float32)),
        graph.add_initializer(f"{codes}_zeros", np.zeros(scales.shape, array.dtype)),
    ]
    output = graph.unique(f"{codes}_by_channel")
    graph.make("DequantizeLinear", [codes, *ends], [output], f"{output}_DequantizeLinear", axis=axis)
    return output


def _rewrite(graph: Graph, site: _Site) -> None:
    node, lowest, tensor = site.node, site.y.limits[0], site.node.input[2]
    fine = site.counts != np.rint(site.counts)
    cut = np.log2(float(site.y.scale) / site.steps).astype(int)
    whole = np.floor(site.counts) + np.ldexp(float(int(site.y.zero_point) - lowest), cut)
    factors = np.where(fine, _ABOVE, 1.0)
    dequantizer = graph.producer(node.input[1])
    assert dequantizer is not None
    bias = graph.add_initializer(f"{tensor}_whole", whole.astype(np.int32))
    inputs = [
        _by_channel(graph, dequantizer.input[0], np.broadcast_to(site.w.scale, fine.shape) * factors, site.axis),
        _by_channel(graph, bias, site.steps * factors, 0),
    ]
    graph.set_inputs(node, [node.input[0], *inputs])
    zero = graph.add_initializer(f"{site.quantizer.output[0]}_lowest", np.array(lowest, site.y.dtype))
    graph.set_inputs(site.quantizer, [*site.quantizer.input[:2], zero])


def floor_biases(graph: Graph) -> int:
    """Give Conv and Gemm whole biases in place of finer ones, where their answers stay the same; how many."""
    count = 0
    for node in graph.of_type("Conv", "Gemm"):
        steps = product_steps(graph, node) if has_input(node, 2) else None
        values = constant_values(graph, node.input[2]) if steps is not None else None
        if values is None or steps is None or not (values.astype(np.float64) / steps % 1).any():
            continue
        site = _site(graph, node)
        refusal = FINER if site is None else _refusal(graph, site)
        if site is None or refusal:
            graph.skip(node, refusal)
            continue
        _rewrite(graph, site)
        count += 1
    clear_unread(graph)
    return count
