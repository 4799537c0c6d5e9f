"""What rounding a weight costs shows at its operator's output: channels whose input is 0 cost nothing, however wrong.

Beside every operator with a constant weight stands its copy with the rounded weight, and one with the rounded bias, all
on float data.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import ModelProto, numpy_helper

from ..graph.weighted_inputs import weighted_inputs
from ..onnx_io.sessions import open_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import onnxruntime as ort
    from numpy.typing import NDArray

    from ..graph import Graph

PREFIX = "weight_errors/"


@dataclass(frozen=True)
class WeightedOutput:
    """``wanted`` is the operator's output, ``found`` that of its copy with the rounded constant."""

    constant: str
    wanted: str
    found: str


def rounded_constants(
    codes: Graph, ends: Mapping[str, str], libraries: Iterable[Callable[[ort.SessionOptions], object]]
) -> dict[str, NDArray[Any]]:
    """Constants as their codes stand for them; ``ends`` says where the quantized graph has each dequantized."""
    if not ends:
        return {}
    needed = {}
    stack = list(ends.values())
    while stack:
        node = codes.producer(stack.pop())
        if node is not None and id(node) not in needed:
            needed[id(node)] = node
            stack.extend(codes.reads(node))
    piece = ModelProto(ir_version=codes.model.ir_version)
    piece.opset_import.extend(codes.model.opset_import)
    piece.functions.extend(codes.model.functions)
    piece.graph.name = "constants"
    piece.graph.node.extend(node for node in codes.sorted() if id(node) in needed)
    read = dict.fromkeys(name for node in piece.graph.node for name in node.input if name in codes.initializers)
    piece.graph.initializer.extend(codes.initializers[name] for name in read)
    for name in dict.fromkeys(ends.values()):
        piece.graph.output.add().name = name
    values = open_session(piece, libraries).run(list(ends.values()), {})
    return dict(zip(ends, values, strict=True))


def attach_rounded(model: ModelProto, floats: Graph, rounded: Mapping[str, NDArray[Any]]) -> list[WeightedOutput]:
    """Put the copies into the float model; one entry for each weight, or bias, of an operator that is rounded."""
    found: list[WeightedOutput] = []
    for each in weighted_inputs(floats):
        for constant in (each.weight, *each.node.input[2:3]):
            values, exact = rounded.get(constant), floats.array(constant)
            if values is None or exact is None or values.shape != exact.shape:
                continue
            place = f"{PREFIX}{len(found)}"
            copy = model.graph.node.add()
            copy.CopyFrom(each.node)
            copy.name, copy.output[0] = f"{place}/{each.node.name}", place
            copy.input[list(copy.input).index(constant)] = f"{place}/{constant}"
            rewritten = np.ascontiguousarray(values, exact.dtype)
            model.graph.initializer.append(numpy_helper.from_array(rewritten, f"{place}/{constant}"))
            found.append(WeightedOutput(constant, each.node.output[0], place))
    return found
