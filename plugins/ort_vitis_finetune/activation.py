"""What a layer gives goes through an activation before other layers read it: its errors count behind that.

y -> Relu -> z        y -> Sigmoid -> Mul(y) -> z        Clip, HardSwish, LeakyRelu ... and what they are written as
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .walk import piece_of

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import NodeProto

    from ort_vitis_plugin.api import Graph

    from .walk import Opener, Session

ELEMENTWISE = frozenset(
    {"Abs", "Add", "Cast", "Celu", "Clip", "Div", "Elu", "Erf", "Exp", "Gelu", "HardSigmoid", "HardSwish", "Identity"}
    | {"LeakyRelu", "Log", "Max", "Min", "Mish", "Mul", "Neg", "PRelu", "Pow", "Relu", "Selu", "Sigmoid", "Softplus"}
    | {"Softsign", "Sqrt", "Sub", "Tanh", "ThresholdedRelu"}
)
# At the end these hide what they are given where they saturate, as a Softmax does.
BOUNDED = frozenset({"HardSigmoid", "Sigmoid", "Softsign", "Tanh"})
QUANTIZERS = frozenset({"DequantizeLinear", "QuantizeLinear"})


class Activation:
    """From a layer's output in the quantized network to what others read."""

    def __init__(self, session: Session, given: str, read: str) -> None:
        self._session, self._given, self.read = session, given, read

    def __call__(self, y: NDArray[np.float32]) -> NDArray[np.float32]:
        found: NDArray[np.float32] = self._session.run([self.read], {self._given: y})[0]
        return found


def read_of(graph: Graph, tensor: str) -> str:
    """The one tensor, computed of this one alone and element by element, that all other nodes read in its place; the
    tensor itself where there is none, or where a bounded function makes it."""
    inside, waiting = {tensor}, [tensor]
    while waiting:
        for node in graph.consumers(waiting.pop()):
            if node.output[0] not in inside and _is_elementwise(graph, node, inside):
                inside.add(node.output[0])
                # A node with two such inputs may have been met too early.
                waiting.extend(inside)
    ends = [name for name in inside if name in graph.outputs or _is_read_outside(graph, name, inside)]
    maker = graph.producer(ends[0]) if len(ends) == 1 and ends[0] != tensor else None
    return tensor if maker is None or maker.op_type in BOUNDED else ends[0]


def activation_of(graph: Graph, given: str, read: str, axis: int, opener: Opener) -> Activation | None:
    """How the quantized network gets from one tensor to another; None where not from that alone, or by constants that
    differ from position to position. ``axis`` is where its channels lie, from the end: below 0."""
    found: dict[int, NodeProto] = {}
    stack = [read]
    while stack:
        tensor = stack.pop()
        if tensor == given or graph.is_constant(tensor):
            continue
        node = graph.producer(tensor)
        if node is None:
            return None
        if id(node) not in found:
            found[id(node)] = node
            stack.extend(name for name in node.input if name)
    nodes = [node for node in graph.sorted() if id(node) in found]
    for node in nodes:
        constants = [graph.initializers[name].dims for name in node.input if name in graph.initializers]
        if node.op_type not in QUANTIZERS and not all(_fits_channels(list(dims), axis) for dims in constants):
            return None
    piece = piece_of(graph, nodes, {given: np.dtype(np.float32)}, [read])
    return Activation(opener(piece), given, read)


def _is_elementwise(graph: Graph, node: NodeProto, inside: set[str]) -> bool:
    if node.op_type not in ELEMENTWISE or len(node.output) != 1:
        return False
    return all(name in inside or graph.is_constant(name) for name in node.input if name)


def _is_read_outside(graph: Graph, tensor: str, inside: set[str]) -> bool:
    return any(not inside.issuperset(node.output) for node in graph.consumers(tensor))


def _fits_channels(dims: list[int], axis: int) -> bool:
    """Whether a constant is one number, or one for each channel."""
    channels = axis + len(dims)
    return all(size == 1 or at == channels for at, size in enumerate(dims))
