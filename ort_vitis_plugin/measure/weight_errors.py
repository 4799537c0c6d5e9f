"""What rounding a weight costs shows at its operator's output: channels whose input is 0 cost nothing, however wrong.

Beside every operator with a constant weight stands its copy with the rounded weight, one with the rounded bias, and
beside every node one with all its rounded constants; all on float data.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import ModelProto, numpy_helper

from ..graph.subgraphs import subgraphs
from ..graph.weighted_inputs import weighted_inputs
from ..onnx_io.sessions import open_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import onnxruntime as ort
    from numpy.typing import NDArray
    from onnx import NodeProto

    from ..graph import Graph

PREFIX = "weight_errors/"


@dataclass(frozen=True)
class WeightedOutput:
    """``wanted`` is an operator's output, ``found`` its copy's with the rounded ``constant``, or ("") with all."""

    constant: str
    wanted: str
    found: str


def rounded_constants(
    codes: Graph, ends: Mapping[str, str], libraries: Iterable[Callable[[ort.SessionOptions], object]]
) -> dict[str, NDArray[Any]]:
    """Constants as their codes stand for them; ``ends`` says where the quantized graph has each dequantized.

    Arrays have the shapes and types of these ends.
    """
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
            values = _alike(floats, rounded, [constant])
            if values:
                place = f"{PREFIX}{len(found)}"
                _attach(model, each.node, values, place)
                found.append(WeightedOutput(constant, each.node.output[0], place))
    return found


def attach_layers(model: ModelProto, floats: Graph, rounded: Mapping[str, NDArray[Any]]) -> list[WeightedOutput]:
    """Put copies into the float model in which all constants of a node are the rounded ones; one entry for each."""
    found: list[WeightedOutput] = []
    for node in floats:
        values = _alike(floats, rounded, node.input)
        if values and not any(subgraphs(node)):
            place = f"{PREFIX}layer/{len(found)}"
            _attach(model, node, values, place)
            found.append(WeightedOutput("", node.output[0], place))
    return found


def _alike(floats: Graph, rounded: Mapping[str, NDArray[Any]], names: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Rounded values of those constants that have one shape in both models, in the float model's type."""
    exact = {name: floats.array(name) for name in names if name in rounded}
    return {
        name: rounded[name].astype(array.dtype, copy=False)
        for name, array in exact.items()
        if array is not None and array.shape == rounded[name].shape
    }


def _attach(model: ModelProto, node: NodeProto, values: Mapping[str, NDArray[Any]], place: str) -> None:
    """A copy of the node whose first output is ``place``."""
    copy = model.graph.node.add()
    copy.CopyFrom(node)
    copy.name = f"{place}/{node.name}"
    copy.output[:] = [place, *(name and f"{place}/{name}" for name in node.output[1:])]
    copy.input[:] = [f"{place}/{name}" if name in values else name for name in node.input]
    for name, array in values.items():
        model.graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(array), f"{place}/{name}"))
