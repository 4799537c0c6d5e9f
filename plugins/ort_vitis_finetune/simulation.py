"""A quantized network whose constants are plain numbers again: what a layer's weights are can then be changed.

codes -> DequantizeLinear -> w        becomes        w, and the grid on which it lies
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, numpy_helper

from ort_vitis_plugin.api import Graph, attribute, dequantize, qtype

from .grid import Grid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from onnx import ModelProto, NodeProto

DEQUANTIZERS = ("DequantizeLinear", "VitisDequantizeLinear")
CODES = frozenset(
    {TensorProto.INT4, TensorProto.UINT4, TensorProto.INT8, TensorProto.UINT8}
    | {TensorProto.INT16, TensorProto.UINT16, TensorProto.INT32}
)


@dataclass
class Simulation:
    """``model`` with constants of real numbers, and by their names the grids on which they lie."""

    model: ModelProto
    grids: dict[str, Grid] = field(default_factory=dict)


def simulation_of(quantized: ModelProto, limits: Mapping[str, tuple[int, int]] | None = None) -> Simulation:
    """The quantized model with every dequantized integer constant in its place.

    ``limits`` gives the least and largest code of constants, by the name of their codes, where these are narrower than
    their type (four bits in an int8). Pairs of activations stay; so do constants of other types.
    """
    graph = Graph(quantized)
    grids = {}
    for node in graph:
        if node.op_type not in DEQUANTIZERS or not graph.is_constant(node.input[0]):
            continue
        if graph.initializers[node.input[0]].data_type not in CODES or node.output[0] in graph.outputs:
            continue
        codes = graph.array(node.input[0])
        if codes is None:
            continue
        grid = _grid(graph, node, codes, (limits or {}).get(node.input[0]))
        if grid is None:
            continue
        name = node.output[0]
        shape = codes.shape
        values = dequantize(codes.astype(np.int64), grid.steps(shape), grid.zeros(shape))
        graph.remove(node)
        graph.put_initializer(numpy_helper.from_array(values, name))
        grids[name] = grid
    return Simulation(graph.to_model(), grids)


def _grid(graph: Graph, node: NodeProto, codes: NDArray[Any], limits: tuple[int, int] | None) -> Grid | None:
    scale = graph.array(node.input[1])
    zero = graph.array(node.input[2]) if len(node.input) > 2 and node.input[2] else np.zeros((), np.int64)
    if scale is None or zero is None or scale.dtype != np.float32:
        return None
    axis, block = None, int(attribute(node, "block_size", 0))
    if scale.size > 1:
        axis = int(attribute(node, "axis", 1)) % codes.ndim
    low, high = limits or qtype(graph.initializers[node.input[0]].data_type).limits()
    if scale.size == 1:
        scale, zero = scale.reshape(()), zero.reshape(())
    return Grid(scale, zero.astype(np.int64), low, high, axis, block)
