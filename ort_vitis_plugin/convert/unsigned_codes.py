"""Codes of int8 with zero point z are codes of uint8 with z + 128, and codes of 4 bits fit in 8: kernels differ."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto

from ort_vitis_plugin.graph import attribute, has_input
from ort_vitis_plugin.graph.op_sets import PRODUCTS

from .code_grid import Grid, grid_of, is_native_dequantize, is_native_quantize

if TYPE_CHECKING:
    from onnx import NodeProto

    from ort_vitis_plugin.graph import Graph

_OFFSET = 128
_WIDER: dict[int, type[np.integer[Any]]] = {TensorProto.INT4: np.int8, TensorProto.UINT4: np.uint8}


def _is_signed_activation(grid: Grid | None) -> bool:
    return grid is not None and grid.element_type == TensorProto.INT8 and grid.axis is None


def _shift(graph: Graph, nodes: list[NodeProto], grid: Grid, name: str) -> None:
    unsigned = replace(grid, zero_point=grid.zero_point + _OFFSET, element_type=TensorProto.UINT8)
    zero = graph.add_initializer(f"{name}_zero_point_uint8", unsigned.zero_point.astype(np.uint8))
    for node in nodes:
        for index in reversed(range(len(node.attribute))):
            if node.attribute[index].name == "output_dtype":
                del node.attribute[index]
        graph.set_inputs(node, [*node.input[:2], zero])


def _shift_activation(graph: Graph, quantizer: NodeProto) -> bool:
    grid, codes = grid_of(graph, quantizer), quantizer.output[0]
    readers = graph.consumers(codes)
    if grid is None or not _is_signed_activation(grid) or codes in graph.outputs or not readers:
        return False
    if not all(is_native_dequantize(reader) and grid.is_same(grid_of(graph, reader)) for reader in readers):
        return False
    _shift(graph, [quantizer, *readers], grid, codes)
    graph.describe(codes, TensorProto.UINT8, graph.shape(codes))
    return True


def _shift_constant(graph: Graph, dequantizer: NodeProto) -> bool:
    """A constant operand beside activations; weights of Conv, Gemm and MatMul stay int8."""
    grid, codes = grid_of(graph, dequantizer), graph.array(dequantizer.input[0])
    readers = graph.consumers(dequantizer.output[0])
    if grid is None or codes is None or not _is_signed_activation(grid):
        return False
    if not readers or any(reader.op_type in PRODUCTS for reader in readers):
        return False
    name = graph.add_initializer(f"{dequantizer.input[0]}_uint8", (codes.astype(np.int16) + _OFFSET).astype(np.uint8))
    _shift(graph, [dequantizer], grid, name)
    graph.set_inputs(dequantizer, [name, *dequantizer.input[1:]])
    return True


def own_codes(graph: Graph) -> int:
    """Give every reader of constant int8 codes its own copy; how many more there are.

    With session.x64quantprecision onnxruntime replaces each of them, and fails where it finds one replaced (1.32).
    """
    count = 0
    for node in graph:
        if not is_native_dequantize(node) or graph.element_type(node.input[0]) != TensorProto.INT8:
            continue
        if graph.array(node.input[0]) is None:
            continue
        for index in (0, 2):
            name = node.input[index] if len(node.input) > index else ""
            array = graph.array(name) if name and len(graph.consumers(name)) > 1 else None
            if array is not None:
                own = graph.add_initializer(name, array)
                graph.set_inputs(node, [*node.input[:index], own, *node.input[index + 1 :]])
        if node.output[0] in graph.outputs:
            continue
        for reader in graph.consumers(node.output[0])[1:]:
            _copy_for(graph, node, reader)
            count += 1
    return count


def _copy_for(graph: Graph, node: NodeProto, reader: NodeProto) -> None:
    """A dequantize node like ``node``, with codes and zero point of its own, for one of its readers."""
    inputs = [*node.input]
    for index in (0, 2):
        array = graph.array(inputs[index]) if len(inputs) > index and inputs[index] else None
        if array is not None:
            inputs[index] = graph.add_initializer(inputs[index], array)
    output = graph.unique(node.output[0])
    made = graph.make(node.op_type, inputs, [output], node.name, domain=node.domain or None)
    made.attribute.extend(node.attribute)
    graph.redirect(reader, node.output[0], output)


def widen_codes(graph: Graph) -> int:
    """Store constant 4-bit codes in 8 bits, for which there are integer kernels; how many."""
    count = 0
    for node in graph:
        codes = graph.array(node.input[0]) if is_native_dequantize(node) else None
        wide = _WIDER.get(graph.element_type(node.input[0])) if codes is not None else None
        if codes is None or wide is None or attribute(node, "block_size", 0):
            continue
        parameters = [node.input[1]]
        if has_input(node, 2):
            zero = graph.array(node.input[2])
            if zero is None:
                continue
            parameters.append(graph.add_initializer(f"{node.input[2]}_{np.dtype(wide).name}", zero.astype(wide)))
        name = graph.add_initializer(f"{node.input[0]}_{np.dtype(wide).name}", codes.astype(wide))
        graph.set_inputs(node, [name, *parameters])
        count += 1
    return count


def unsigned_codes(graph: Graph) -> int:
    """Write int8 activations between pair halves, and constants that meet them, as uint8; how many."""
    count = sum(_shift_activation(graph, node) for node in graph if is_native_quantize(node))
    return count + sum(_shift_constant(graph, node) for node in graph if is_native_dequantize(node)) if count else 0
