"""A quantized network whose constants are plain numbers again: what a layer's weights are can then be changed.

codes -> DequantizeLinear -> w        becomes        w, and the grid on which it lies

So do float constants behind a pair, or behind the one node of a format that says which values a constant may take.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto, numpy_helper

from ort_vitis_plugin.api import Graph, attribute, has_input, qtype

from .grid import Grid

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray
    from onnx import ModelProto, NodeProto

    from ort_vitis_plugin.api import Multiples

    GridOf = Callable[[NodeProto, NDArray[np.float32]], Multiples | None]

DEQUANTIZERS = ("DequantizeLinear", "VitisDequantizeLinear")
QUANTIZERS = ("QuantizeLinear", "VitisQuantizeLinear")
CODES = frozenset(
    {TensorProto.INT4, TensorProto.UINT4, TensorProto.INT8, TensorProto.UINT8}
    | {TensorProto.INT16, TensorProto.UINT16, TensorProto.INT32}
)


@dataclass
class Simulation:
    """``model`` with constants of real numbers, and by their names the grids on which they lie.

    ``moves`` are positions, from where they are, that weights may take instead, by their names in the float network.
    """

    model: ModelProto
    grids: dict[str, Grid] = field(default_factory=dict)
    moves: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


def simulation_of(
    quantized: ModelProto, limits: Mapping[str, tuple[int, int]] | None = None, grid_of: GridOf | None = None
) -> Simulation:
    """The quantized model with every dequantized integer constant in its place.

    ``limits`` gives the least and largest code of constants, by the name of their codes (or of the floats in front of
    a pair), where these are narrower than their type (four bits in an int8). ``grid_of`` is the format's
    ``PairWriter.constant_grid``. Pairs of activations stay; so do constants of other types.
    """
    graph = Graph(quantized)
    grids = {}
    for node in graph:
        if node.output[:1] and node.output[0] in graph.outputs:
            continue
        found = _stored(graph, node, limits or {}) or _rounded(graph, node, limits or {})
        if found is None and grid_of is not None:
            found = _by_one_node(graph, node, grid_of)
        if found is None:
            continue
        grid, values = found
        quantizer = graph.producer(node.input[0])
        graph.remove(node)
        if quantizer is not None and graph.sole_consumer(quantizer.input[0]) is quantizer:
            graph.remove(quantizer)
        graph.put_initializer(numpy_helper.from_array(values, node.output[0]))
        grids[node.output[0]] = grid
    return Simulation(graph.to_model(), grids)


Found = tuple[Grid, "NDArray[np.float32]"]


def _stored(graph: Graph, node: NodeProto, limits: Mapping[str, tuple[int, int]]) -> Found | None:
    """codes -> DequantizeLinear."""
    if node.op_type not in DEQUANTIZERS or not graph.is_constant(node.input[0]):
        return None
    kind, codes = graph.initializers[node.input[0]].data_type, graph.array(node.input[0])
    if kind not in CODES or codes is None:
        return None
    grid = _grid(graph, node, kind, codes.ndim, limits.get(node.input[0]))
    return None if grid is None else (grid, grid.values(codes.astype(np.int64)))


def _rounded(graph: Graph, node: NodeProto, limits: Mapping[str, tuple[int, int]]) -> Found | None:
    """floats -> QuantizeLinear -> DequantizeLinear."""
    quantizer = graph.producer(node.input[0]) if node.op_type in DEQUANTIZERS else None
    if quantizer is None or quantizer.op_type not in QUANTIZERS or graph.sole_consumer(node.input[0]) is not node:
        return None
    values, zero = graph.array(quantizer.input[0]), graph.initializers.get((*node.input, "", "")[2])
    if values is None or zero is None or zero.data_type not in CODES or not graph.is_constant(quantizer.input[0]):
        return None
    grid = _grid(graph, node, zero.data_type, values.ndim, limits.get(quantizer.input[0]))
    return None if grid is None else (grid, grid.rounded(values))


def _by_one_node(graph: Graph, node: NodeProto, grid_of: GridOf) -> Found | None:
    """floats -> the one node of a format."""
    values = graph.array(node.input[0]) if node.input[:1] and graph.is_constant(node.input[0]) else None
    if values is None or values.dtype != np.float32:
        return None
    multiples = grid_of(node, values)
    if multiples is None:
        return None
    block, axis = (1, 0) if np.ndim(multiples.step) else (0, None)
    step = np.asarray(multiples.step, np.float32)
    grid = Grid(step, np.zeros_like(step, np.int64), multiples.low, multiples.high, axis, block)
    return grid, grid.rounded(values)


def _grid(graph: Graph, node: NodeProto, kind: int, rank: int, limits: tuple[int, int] | None) -> Grid | None:
    scale = graph.array(node.input[1])
    zero = graph.array(node.input[2]) if has_input(node, 2) else np.zeros((), np.int64)
    if scale is None or zero is None or scale.dtype != np.float32:
        return None
    axis, block = None, int(attribute(node, "block_size", 0))
    if scale.size > 1:
        axis = int(attribute(node, "axis", 1)) % rank
    low, high = limits or qtype(kind).limits()
    if scale.size == 1:
        scale, zero = scale.reshape(()), zero.reshape(())
    return Grid(scale, zero.astype(np.int64), low, high, axis, block)
