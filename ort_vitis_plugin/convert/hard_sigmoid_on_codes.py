"""A HardSigmoid between pairs is one addition on codes, and a clamp.

factor * clip(alpha * x + beta, 0, 1) = clip((q - zero) * (x_scale * alpha * factor) + beta * factor, 0, factor), and
QLinearAdd rounds such a sum to the output's codes. The factor is that of the device (2731 / 2^14 for the slope).
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from ort_vitis_plugin.graph import Graph, attribute
from ort_vitis_plugin.graph.nodes import MICROSOFT
from ort_vitis_plugin.graph.opsets import CLIP_ON_CODES_OPSET

from .code_grid import Grid, grid_behind, grid_of, is_native_quantize
from .every_code import X, Y, agree, between_pairs, code_model

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import NodeProto


@dataclass(frozen=True)
class _Chain:
    """HardSigmoid, the Mul by a constant behind it if there is one, and the quantize node."""

    nodes: list[NodeProto]
    quantizer: NodeProto
    factor: float
    x: Grid
    y: Grid


def _factor(graph: Graph, node: NodeProto | None, tensor: str) -> float | None:
    if node is None or node.op_type != "Mul":
        return None
    arrays = [array for array in (graph.array(name) for name in node.input if name != tensor) if array is not None]
    return float(arrays[0].reshape(-1)[0]) if len(arrays) == 1 and arrays[0].size == 1 and arrays[0].ndim == 0 else None


def _chain(graph: Graph, node: NodeProto) -> _Chain | None:
    x = grid_behind(graph, node.input[0])
    nodes, reader, factor = [node], graph.sole_consumer(node.output[0]), 1.0
    found = _factor(graph, reader, node.output[0])
    if found is not None and reader is not None and found > 0:
        nodes, factor, reader = [node, reader], found, graph.sole_consumer(reader.output[0])
    y = grid_of(graph, reader)
    if x is None or y is None or reader is None or not is_native_quantize(reader) or x.element_type != y.element_type:
        return None
    if x.axis is not None or y.axis is not None or not (x.is_eight_bit_shift and y.is_eight_bit_shift):
        return None
    return _Chain(nodes, reader, factor, x, y)


def _constants(chain: _Chain) -> dict[str, NDArray[Any]]:
    alpha, beta = (attribute(chain.nodes[0], key, default) for key, default in (("alpha", 0.2), ("beta", 0.5)))
    ends = [chain.y.code(0.0), chain.y.code(chain.factor)]
    low, high = (np.array(end, chain.y.dtype) for end in ends)
    return {
        "slope": np.float32(float(chain.x.scale) * alpha * chain.factor) * np.ones((), np.float32),
        "x_zero": chain.x.zero_point.astype(chain.x.dtype),
        "one": np.ones((), chain.x.dtype),
        "offset": np.float32(beta * chain.factor) * np.ones((), np.float32),
        "nothing": np.zeros((), chain.x.dtype),
        "y_scale": chain.y.scale,
        "y_zero": chain.y.zero_point.astype(chain.y.dtype),
        "low": low,
        "high": high,
    }


def _is_exact(chain: _Chain, constants: dict[str, NDArray[Any]], opset: int) -> bool:
    if float(constants["slope"]) <= 0 or float(constants["offset"]) <= 0:
        return False
    node = chain.nodes[0]
    middle = helper.make_node("HardSigmoid", ["dequantized"], ["sigmoid" if len(chain.nodes) > 1 else "result"])
    middle.attribute.extend(node.attribute)
    floats = [middle]
    if len(chain.nodes) > 1:
        floats.append(helper.make_node("Mul", ["sigmoid", "factor"], ["result"]))
    nodes, given = between_pairs(floats, chain.x, chain.y)
    given["factor"] = np.array(chain.factor, np.float32)
    original = code_model(nodes, given, chain.x, chain.y, opset)
    return agree(original, code_model(_nodes(X, "sum", Y), constants, chain.x, chain.y, opset), chain.x)


def _nodes(x: str, total: str, y: str) -> list[NodeProto]:
    names = [x, "slope", "x_zero", "one", "offset", "nothing", "y_scale", "y_zero"]
    return [
        helper.make_node("QLinearAdd", names, [total], domain=MICROSOFT),
        helper.make_node("Clip", [total, "low", "high"], [y]),
    ]


def _replace(graph: Graph, chain: _Chain, constants: dict[str, NDArray[Any]]) -> None:
    first, target = chain.nodes[0], chain.quantizer.output[0]
    dequantizer = graph.producer(first.input[0])
    assert dequantizer is not None
    names = {key: graph.add_initializer(f"{first.output[0]}_{key}", array) for key, array in constants.items()}
    for node in (*chain.nodes, chain.quantizer):
        graph.remove(node)
    total = graph.unique(f"{target}_sum")
    graph.describe(total, chain.y.element_type, graph.shape(target))
    for made in _nodes(dequantizer.input[0], total, target):
        inputs = [names.get(name, name) for name in made.input]
        graph.make(made.op_type, inputs, made.output, f"{first.name or target}_{made.op_type}", domain=made.domain)


def hard_sigmoid_on_codes(graph: Graph) -> int:
    """Compute every HardSigmoid on codes where all 256 answers stay the same; how many."""
    count = 0
    for node in graph.of_type("HardSigmoid"):
        chain = _chain(graph, node)
        if chain is None:
            continue
        if graph.opset < CLIP_ON_CODES_OPSET:
            graph.skip(node, f"Clip takes codes from opset {CLIP_ON_CODES_OPSET} on; the model has {graph.opset}")
            continue
        constants = _constants(chain)
        if not _is_exact(chain, constants, graph.opset):
            graph.skip(node, "QLinearAdd gives other codes for some of the 256")
            continue
        _replace(graph, chain, constants)
        count += 1
    return count
