"""Weights in blocks of few bits, of products of matrices and of the tables that look rows up; data are untouched.

A table that is also the weight of a product (a tied head) takes the same codes in both places, or stays float in both.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
from onnx import ModelProto, TensorProto

from ..custom_ops.stored_codes import holds_constant
from ..emission.pair_writer import PairWriter
from ..errors import UnsupportedError
from ..graph import DEFAULT_DOMAINS, Graph, attribute
from ..graph.edit import become
from ..graph.op_sets import MATRIX_PRODUCTS, RESHAPES
from ..numerics.block_codes import block_codes
from ..onnx_io import external_weights
from ..request.weight_blocks import BITS_OF, MAT_MUL_NBITS, OPTION, WeightBlocks
from ..selection.stated_by_node import StatedByNode

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import NodeProto

    from ..request.call import Call

IR_OF_4_BITS = 10
TOOL_OPS = ("MatMul", "Gather")
TABLE_BITS = 4  # of the tables that the tool takes
Stored = Callable[["NodeProto"], WeightBlocks]
TOOL = "onnxruntime.quantization.matmul_nbits_quantizer"


@dataclass(frozen=True, eq=False)
class BlockWeight:
    """A constant of two dimensions that a node multiplies with along ``axis``, or takes rows of that lie along it."""

    node: NodeProto
    name: str
    axis: int
    blocks: WeightBlocks


def check_weight_only(blocks: WeightBlocks | None) -> None:
    """Raise UnsupportedError where onnxruntime's tool is asked for and cannot be loaded."""
    if blocks is not None and blocks.format == MAT_MUL_NBITS and find_spec("onnx_ir") is None:
        raise UnsupportedError(
            f"{OPTION}: onnxruntime {onnxruntime.__version__}'s tool for {MAT_MUL_NBITS} needs the package onnx_ir, "
            "which it does not install; pip install ort-vitis-plugin[weight-only], or use {'format': 'QDQ'}"
        )


def block_weights(call: Call, graph: Graph) -> list[BlockWeight]:
    """The selected weights: of MatMul and Gemm, and tables of Gather (QDQ: only where they are tied)."""
    blocks = call.settings.weight_blocks
    assert blocks is not None
    by_tool = blocks.format == MAT_MUL_NBITS
    bits = StatedByNode(graph, blocks.bits_of, BITS_OF, call.ledger)

    def stored(node: NodeProto) -> WeightBlocks:
        return blocks.of_bits(bits.of(node) or blocks.bits)

    products = [found for node in graph if (found := _of_product(graph, node, stored, by_tool=by_tool)) is not None]
    tables = [found for node in graph.of_type("Gather") if (found := _of_table(graph, node, stored)) is not None]
    ties = [(table, product) for table in tables for product in products if _is_tied(graph, table, product)]
    if not by_tool:
        tables = list(dict.fromkeys(table for table, _ in ties))
    else:
        tables = [table for table in tables if table.blocks.bits == TABLE_BITS]
    chosen = [found for found in (*products, *tables) if call.refusal(found.node) is None]
    both = [(part, other) for tie in ties for part, other in (tie, tie[::-1])]
    apart = {part: other for part, other in both if other not in chosen or other.blocks != part.blocks}
    for part, other in apart.items():
        if part in chosen:
            why = "has other bits" if other in chosen else "stays float"
            call.note(f"{part.node.name} stays float: {other.node.name} reads the same values and {why}")
    return [found for found in chosen if found not in apart]


def _of_product(graph: Graph, node: NodeProto, stored: Stored, *, by_tool: bool) -> BlockWeight | None:
    if node.domain not in DEFAULT_DOMAINS or node.op_type not in MATRIX_PRODUCTS:
        return None
    if by_tool and not _is_plain(node):
        return None
    name = node.input[1]
    transposed = node.op_type == "Gemm" and attribute(node, "transB", 0)
    return BlockWeight(node, name, int(bool(transposed)), stored(node)) if _is_matrix(graph, name) else None


def _is_plain(node: NodeProto) -> bool:
    """Whether a Gemm is a MatMul and an Add."""
    return not attribute(node, "transA", 0) and attribute(node, "alpha", 1.0) == attribute(node, "beta", 1.0) == 1.0


def _of_table(graph: Graph, node: NodeProto, stored: Stored) -> BlockWeight | None:
    name = node.input[0]
    takes_rows = node.domain in DEFAULT_DOMAINS and attribute(node, "axis", 0) == 0
    if not takes_rows or not _is_matrix(graph, name) or not _is_fed(graph, node.input[1]):
        return None
    return None if _is_of_angles(graph.array(name)) else BlockWeight(node, name, 1, stored(node))


def _is_fed(graph: Graph, indices: str) -> bool:
    """Whether the caller says which rows are taken: what the model counts by itself are positions, not words."""
    node = graph.producer(indices)
    while node is not None and node.op_type in (*RESHAPES, "Cast", "Identity"):
        indices = node.input[0]
        node = graph.producer(indices)
    return indices in graph.inputs


def _is_of_angles(table: NDArray[Any] | None) -> bool:
    """Whether it holds cosines or sines of positions: within one, the first row that of the angle 0."""
    if table is None or not table.size:
        return True
    return bool(np.abs(table).max() <= 1 and ((table[0] == 1).all() or (table[0] == 0).all()))


def _is_matrix(graph: Graph, name: str) -> bool:
    constant = graph.is_constant(name) and graph.element_type(name) == TensorProto.FLOAT
    return constant and len(graph.shape(name) or ()) == 2


def _is_tied(graph: Graph, table: BlockWeight, product: BlockWeight) -> bool:
    """Whether a product's columns are the rows of a table, as they are or as a constant of their own."""
    if table.name == product.name:
        return table.axis == product.axis
    rows, weight = graph.array(table.name), graph.array(product.name)
    assert rows is not None
    assert weight is not None
    columns = weight if product.axis else weight.T
    return rows.shape == columns.shape and bool(np.array_equal(rows, columns))


def leave_to_blocks(call: Call, graph: Graph) -> None:
    """Keep the plan from these weights: they are stored once the rest is written."""
    for weight in block_weights(call, graph):
        call.ledger.float_tensors[weight.name] = f"stored in blocks ({OPTION})"


def report_weights_alone(call: Call, graph: Graph) -> None:
    """What a call that stores weights alone leaves float."""
    stored = {weight.node.name for weight in block_weights(call, graph)}
    for node in graph:
        if node.name not in stored and not holds_constant(node, graph.is_constant):
            why = call.refusal(node) or f"no weight of it is stored in blocks, and {OPTION} leaves data float"
            call.report.left_float[node.name] = f"{node.op_type}: {why}"


def with_block_weights(call: Call, model: ModelProto) -> ModelProto:
    """The written model with its weights in blocks; ``model`` may change."""
    blocks = call.settings.weight_blocks
    assert blocks is not None
    graph = Graph(model, copy=False)
    weights = block_weights(call, graph)
    by_tool = blocks.format == MAT_MUL_NBITS
    result = _by_tool(graph, weights) if by_tool else _as_pairs(call, graph, weights)
    left = {node.name for node in result.graph.node if by_tool and node.op_type in TOOL_OPS}
    for weight in weights:
        if weight.node.name in left:
            call.note(f"{weight.name} stays float: {weight.node.name} takes no {weight.blocks}")
            continue
        call.report.quantized[weight.node.name] = weight.node.op_type
        call.report.types[weight.name] = str(weight.blocks)
    return result


def _as_pairs(call: Call, graph: Graph, weights: list[BlockWeight]) -> ModelProto:
    """Codes and a DequantizeLinear with block_size, once for each weight, axis and bits."""
    writer, ends = PairWriter(call, graph), dict[tuple[str, int, int], str]()
    for weight in weights:
        array, blocks = graph.array(weight.name), weight.blocks
        assert array is not None
        if (weight.name, weight.axis, blocks.bits) not in ends:
            found = block_codes(
                array,
                blocks.kind,
                axis=weight.axis,
                block=blocks.block,
                symmetric=blocks.symmetric,
                least_error=blocks.scale == "mse",
            )
            stored = [
                writer.store(f"{weight.name}_quantized", found.codes, blocks.kind),
                graph.add_initializer(f"{weight.name}_scale", found.scale),
            ]
            if not blocks.symmetric:
                stored.append(writer.store(f"{weight.name}_zero_point", found.zero_point, blocks.kind))
            end = graph.unique(f"{weight.name}_DequantizeLinear_Output")
            name = f"{weight.name}_DequantizeLinear"
            graph.make("DequantizeLinear", stored, [end], name, axis=weight.axis, block_size=blocks.block)
            graph.describe(end, TensorProto.FLOAT, array.shape)
            ends[weight.name, weight.axis, blocks.bits] = end
        graph.redirect(weight.node, weight.name, ends[weight.name, weight.axis, blocks.bits])
    return graph.write_back()


def _as_product(graph: Graph, weight: BlockWeight) -> None:
    """A Gemm, which onnxruntime makes of products of fixed sizes, becomes a MatMul and an Add: the tool has none."""
    node, bias = weight.node, weight.node.input[2:]
    matrix = weight.name
    if weight.axis:
        array = graph.array(matrix)
        assert array is not None
        matrix = graph.add_initializer(f"{matrix}_transposed", np.ascontiguousarray(array.T))
    if any(bias):
        output, product = node.output[0], graph.unique(f"{node.output[0]}_product")
        graph.set_outputs(node, [product])
        graph.make("Add", [product, *bias], [output], f"{node.name}_bias")
    become(graph, node, "MatMul", [node.input[0], matrix])


def _by_tool(graph: Graph, weights: list[BlockWeight]) -> ModelProto:
    """onnxruntime's MatMulNBits and GatherBlockQuantized, by its own tool, which has one number of bits a run."""
    for weight in weights:
        if weight.node.op_type == "Gemm":
            _as_product(graph, weight)
    for node in graph.of_type(*TOOL_OPS):
        node.name = node.name or graph.unique(f"{node.op_type}_{node.output[0]}")
    names = [node.name for node in graph.of_type(*TOOL_OPS)]
    model = graph.to_model()
    result = ModelProto()
    result.CopyFrom(model)
    result.ir_version = max(result.ir_version, IR_OF_4_BITS)
    of_bits: dict[int, list[BlockWeight]] = {}
    for weight in weights:
        of_bits.setdefault(weight.blocks.bits, []).append(weight)
    with _logging_as_it_was(), np.errstate(all="ignore"):  # it divides by the scales of blocks of zeros
        from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

        for bits, group in of_bits.items():
            chosen = {weight.node.name for weight in group}
            tool = MatMulNBitsQuantizer(
                result,
                bits=bits,
                block_size=group[0].blocks.block,
                is_symmetric=group[0].blocks.symmetric,
                accuracy_level=group[0].blocks.accuracy_level,
                nodes_to_exclude=[name for name in names if name not in chosen],
                op_types_to_quantize=TOOL_OPS,
            )
            tool.process()
            result = tool.model.model
    return external_weights.externalize(result)


@contextmanager
def _logging_as_it_was() -> Iterator[None]:
    """The tool configures the root logger when it is imported, and tells of every node."""
    root, own = logging.getLogger(), logging.getLogger(TOOL)
    handlers, level, own_level = list(root.handlers), root.level, own.level
    own.setLevel(logging.WARNING)
    try:
        yield
    finally:
        for handler in [handler for handler in root.handlers if handler not in handlers]:
            root.removeHandler(handler)
        root.setLevel(level)
        own.setLevel(own_level)
