"""What rounding a weight costs shows at its operator's output: channels whose input is 0 cost nothing, however wrong.

Beside every operator with a constant weight stands its copy with the rounded weight, and beside every node one with all
its rounded constants; all on float data. What a rounded bias adds is the same everywhere, so that nothing runs for it:

    W x + b' = (W x + b) + (b' - b)
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import ModelProto, numpy_helper

from ..graph import attribute
from ..graph.op_sets import WITH_BIAS
from ..graph.subgraphs import subgraphs
from ..graph.weighted_inputs import weighted_inputs
from ..onnx_io.sessions import open_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import onnxruntime as ort
    from numpy.typing import NDArray
    from onnx import NodeProto

    from ..graph import Graph

PREFIX = "weight_errors/"


@dataclass(frozen=True)
class WeightedOutput:
    """``wanted`` is an operator's output; ``found``, with ``shift`` added, is that of its copy with the rounded
    ``constant``, or ("") with all."""

    constant: str
    wanted: str
    found: str
    shift: NDArray[Any] | None = None

    @property
    def key(self) -> str:
        """What its errors are kept by."""
        return self.constant or self.found


def known_by_others(weighted: Sequence[WeightedOutput], axes: Mapping[str, int]) -> dict[str, str]:
    """{key: key of the copy with the rounded weight whose sums by channel say all}, of layers and of biases.

    ``axes`` gives the axis of each output's channels.
    """
    times = Counter(each.key for each in weighted)
    copies = {each.wanted: each for each in weighted if each.constant and each.shift is None and times[each.key] == 1}
    found = {}
    for each in weighted:
        copy = copies.get(each.wanted)
        if copy is None or copy is each or times[each.key] > 1 or each.found not in (copy.found, each.wanted):
            continue
        if each.shift is None or each.shift.ndim == (3 if axes[each.wanted] == 1 else 1):
            found[each.key] = copy.key
    return found


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
        output = each.node.output[0]
        for constant in (each.weight, *each.node.input[2:3]):
            values = _alike(floats, rounded, [constant])
            shift = _shift(floats, each.node, values) if constant != each.weight else None
            if shift is not None:
                found.append(WeightedOutput(constant, output, output, shift))
            elif values:
                place = f"{PREFIX}{len(found)}"
                _attach(model, each.node, values, place)
                found.append(WeightedOutput(constant, output, place))
    return found


def attach_layers(
    model: ModelProto, floats: Graph, rounded: Mapping[str, NDArray[Any]], known: Iterable[WeightedOutput]
) -> list[WeightedOutput]:
    """Put copies into the float model in which all constants of a node are the rounded ones; one entry for each.

    ``known`` are the copies that it has already: one with the rounded weight serves, with what the bias adds.
    """
    found: list[WeightedOutput] = []
    by_weight = {(each.wanted, each.constant): each.found for each in known if each.shift is None}
    for node in floats:
        values = _alike(floats, rounded, node.input)
        if not values or subgraphs(node):
            continue
        weight = next((name for name in values if (node.output[0], name) in by_weight), None)
        biases = {name: array for name, array in values.items() if name != weight}
        shift = _shift(floats, node, biases)
        if weight is not None and (shift is not None or not biases):
            found.append(WeightedOutput("", node.output[0], by_weight[node.output[0], weight], shift))
            continue
        place = f"{PREFIX}layer/{len(found)}"
        _attach(model, node, values, place)
        found.append(WeightedOutput("", node.output[0], place))
    return found


def _shift(floats: Graph, node: NodeProto, values: Mapping[str, NDArray[Any]]) -> NDArray[Any] | None:
    """What the values of a node's bias add to its output beside the float ones; None where they are not that alone."""
    if len(node.input) < 3 or list(values) != [node.input[2]] or node.op_type not in WITH_BIAS:
        return None
    exact, weight = floats.array(node.input[2]), floats.array(node.input[1])
    if exact is None or weight is None:
        return None
    difference = np.asarray(values[node.input[2]] - exact)
    if node.op_type == "Gemm":
        return np.asarray(difference * difference.dtype.type(attribute(node, "beta", 1.0)))
    return difference.reshape(-1, *(1,) * (weight.ndim - 2))


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
