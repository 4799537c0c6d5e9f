"""What a layer gives goes through an activation before other layers read it: its errors count behind that.

y -> Relu -> z        y -> Sigmoid -> Mul(y) -> z        Clip, HardSwish, LeakyRelu ... and what they are written as
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .simulation import DEQUANTIZERS, QUANTIZERS
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


class Activation:
    """From a layer's output in the quantized network to what others read; ``read`` is that in the float network."""

    def __init__(self, session: Session, given: str, made: str, read: str) -> None:
        self._session, self._given, self._made, self.read = session, given, made, read

    def __call__(self, y: NDArray[np.float32]) -> NDArray[np.float32]:
        found: NDArray[np.float32] = self._session.run([self._made], {self._given: y})[0]
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
    differ from position to position. ``axis`` is where its channels lie, from the end: below 0.

    Where it is gone, the rounding behind it clamps in its place; else that would only blur slopes.
    """
    made = read if read != given else _rounded(graph, read)
    nodes = _between(graph, given, made)
    if not nodes:
        return None
    for node in nodes:
        constants = [graph.initializers[name].dims for name in node.input if name in graph.initializers]
        rounds = node.op_type in QUANTIZERS or node.op_type in DEQUANTIZERS
        if not rounds and not all(_fits_channels(list(dims), axis) for dims in constants):
            return None
    piece = piece_of(graph, nodes, {given: np.dtype(np.float32)}, [made])
    return Activation(opener(piece), given, made, read)


def _rounded(graph: Graph, tensor: str) -> str:
    """What a pair behind the tensor gives, if all read that."""
    quantizer = graph.sole_consumer(tensor)
    if quantizer is None or quantizer.op_type not in QUANTIZERS:
        return tensor
    readers = graph.consumers(quantizer.output[0])
    return readers[0].output[0] if readers and readers[0].op_type in DEQUANTIZERS else tensor


def _between(graph: Graph, given: str, read: str) -> list[NodeProto] | None:
    """The nodes from one tensor to another, in order; None where others are needed too."""
    found: list[NodeProto] = []
    made = {given}
    stack = [read]
    while stack:
        tensor = stack.pop()
        if tensor in made or graph.is_constant(tensor):
            continue
        node = graph.producer(tensor)
        if node is None:
            return None
        missing = [name for name in node.input if name and name not in made and not graph.is_constant(name)]
        if missing:
            stack.extend((tensor, *missing))
        else:
            found.append(node)
            made.update(node.output)
    return found


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
