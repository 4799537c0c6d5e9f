"""Between pairs, onnxruntime computes more on codes than it computes exactly; a Max with the least float keeps it off.

Its kernels add the zero point before they round: half a step beside an odd one goes to the other side. Means of 7 x 7
codes are multiplied by a rounded 1 / 49, Softmax reads a table of rounded exponentials, interpolated codes are cut off,
and float weights and biases between pairs are quantized by onnxruntime itself.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from onnx import NodeProto, TensorProto, helper

from ort_vitis_plugin.graph import DEFAULT_DOMAINS, Graph, attribute
from ort_vitis_plugin.graph.element_types import EIGHT_BITS
from ort_vitis_plugin.graph.op_sets import CLAMP_OPS, WITH_BIAS

from .code_grid import Grid, grid_behind, grid_of, is_native_dequantize, is_native_quantize
from .every_code import agree, between_pairs, code_model

if TYPE_CHECKING:
    from collections.abc import Callable

_LEAST = np.array(np.finfo(np.float32).min, np.float32)


def _is_power_of_two(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


def _ties(graph: Graph, node: NodeProto, y: Grid) -> str:
    return "an odd zero point turns ties around" if (y.zero_point % 2).any() else ""


def _average(graph: Graph, node: NodeProto, y: Grid) -> str:
    if node.op_type == "AveragePool":
        sides = list(attribute(node, "kernel_shape", ()))
        is_padded = any(attribute(node, "pads", ())) or attribute(node, "auto_pad", b"NOTSET") != b"NOTSET"
        is_cut = is_padded or attribute(node, "ceil_mode", 0)
    else:
        sides, is_cut = list((graph.shape(node.input[0]) or (None, None, None))[2:]), False
    if is_cut or not all(isinstance(side, int) for side in sides) or not _is_power_of_two(math.prod(sides)):
        return "its mean is no shift"
    return _ties(graph, node, y)


def _table(graph: Graph, node: NodeProto, y: Grid) -> str:
    x = grid_behind(graph, node.input[0])
    if x is None or x.axis is not None or x.element_type != y.element_type:
        return ""
    plain = helper.make_node(node.op_type, ["dequantized"], ["result"])
    plain.attribute.extend(node.attribute)
    nodes, constants = between_pairs([plain], x, y)
    model = code_model(nodes, constants, x, y, graph.opset)
    return "" if agree(model, model, x) else "its kernel gives other codes for some of the 256"


def _softmax(graph: Graph, node: NodeProto, y: Grid) -> str:
    return "its kernel reads a rounded table"


def _resize(graph: Graph, node: NodeProto, y: Grid) -> str:
    return "" if attribute(node, "mode", b"nearest") == b"nearest" else "interpolated codes are cut off, not rounded"


def _weighted(graph: Graph, node: NodeProto, y: Grid) -> str:
    if node.op_type == "ConvTranspose":
        return "onnxruntime has no integer kernel for it"
    plain = [name for name in node.input[1:3] if name and not is_native_dequantize(graph.producer(name))]
    return "onnxruntime would quantize its float weight or bias" if plain else ""


_WHY: dict[str, Callable[[Graph, NodeProto, Grid], str]] = {
    "Add": _ties,
    "Mul": _ties,
    "AveragePool": _average,
    "GlobalAveragePool": _average,
    "LeakyRelu": _table,
    "Sigmoid": _table,
    "Softmax": _softmax,
    "Resize": _resize,
    **dict.fromkeys(WITH_BIAS, _weighted),
}


def _put_max_before(graph: Graph, quantizer: NodeProto, least: str) -> None:
    tensor = quantizer.input[0]
    kept = graph.unique(f"{tensor}_float")
    graph.make("Max", [tensor, least], [kept], f"{kept}_Max")
    graph.set_inputs(quantizer, [kept, *quantizer.input[1:]])
    graph.describe(kept, TensorProto.FLOAT, graph.shape(tensor))


def _quantizers(graph: Graph, node: NodeProto) -> list[NodeProto]:
    """The quantize nodes behind a node, or behind the clamps behind it, which onnxruntime looks through."""
    readers = graph.consumers(node.output[0])
    behind = [_quantizers(graph, reader) for reader in readers if reader.op_type in CLAMP_OPS]
    return [*filter(is_native_quantize, readers), *(quantizer for found in behind for quantizer in found)]


def _matters(node: NodeProto, x: Grid | None, y: Grid | None) -> bool:
    """Whether pairs of powers of two stand around the node, or around one with weights any pairs wider than 8 bits."""
    if x is None or y is None:
        return False
    if node.op_type in WITH_BIAS and not {x.element_type, y.element_type} <= EIGHT_BITS:
        return True
    return x.is_eight_bit_shift and y.is_eight_bit_shift


def keep_float(graph: Graph) -> int:
    """Keep what integer kernels would not compute to the bit in float, between its pairs; how many."""
    count, least, said = 0, "", {skip.node for skip in graph.skips}
    for node in graph:
        why = _WHY.get(node.op_type) if node.domain in DEFAULT_DOMAINS else None
        if why is None or not node.input:
            continue
        x = grid_behind(graph, node.input[0])
        for quantizer in _quantizers(graph, node):
            y = grid_of(graph, quantizer)
            reason = why(graph, node, y) if y is not None and _matters(node, x, y) else ""
            if not reason:
                continue
            if node.name not in said:
                graph.skip(node, reason)
            said.add(node.name)
            least = least or graph.add_initializer("least_float", _LEAST)
            _put_max_before(graph, quantizer, least)
            count += 1
    return count + _part_pairs(graph, least)


def _part_pairs(graph: Graph, least: str) -> int:
    """Between two pairs in a row: onnxruntime makes them one, which is exact only where both have one grid."""
    count = 0
    for node in graph:
        before = graph.producer(node.input[0]) if is_native_quantize(node) else None
        if before is None or not is_native_dequantize(before):
            continue
        grid = grid_of(graph, node)
        if grid is not None and grid.is_shift and grid.is_same(grid_of(graph, before)):
            if node.output[0] not in graph.outputs:
                graph.replace_uses(node.output[0], before.input[0])
                graph.remove(node)
            continue
        least = least or graph.add_initializer("least_float", _LEAST)
        _put_max_before(graph, node, least)
        count += 1
    return count
