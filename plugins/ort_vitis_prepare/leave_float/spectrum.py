"""A spectrum spans more decades than integers hold, and a logarithm shows all of them: it stays float.

    log spectrum    Log(a)
    magnitude       Sqrt(a),  a made of squares: x * x, x ** 2

Squares and what is computed from them up to the root stay float wherever they are: their range is that of x, squared.
Where all of ``a`` comes from the model's inputs by linear steps and squares alone (frames, Fourier transform, filter
bank) those stay float too, back to the inputs. Sixteen bits are too few as well: the floor of log(max(a, 1e-9)) falls
to 0, in float16 too. For bfloat16 and 32 bits nothing is left out.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import TensorProto

from ort_vitis_plugin.api import FLOATS, SIZE_OPS, Graph, Stage, StaysFloat, leave_float, square_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnx import NodeProto

    from ort_vitis_plugin.api import Context, QType

_LINEAR = (
    "Add Cast Concat Conv Div Einsum Expand Flatten Gather GatherElements Gemm Identity MatMul Mul Neg Pad ReduceMean "
    "ReduceSum Reshape ScatterElements ScatterND Slice Split Squeeze STFT Sub Tile Transpose Unsqueeze Where"
)
_FLOORS = "Abs Clip Max"  # log(max(a, eps))
_SQUARES = "Mul Pow ReduceSumSquare"
STEPS = frozenset(f"{_LINEAR} {_FLOORS} {_SQUARES}".split())
REASON = "a spectrum, which spans more than its codes"


def holds_spectra(kind: QType) -> bool:
    """Whether the type spans the decades of float32, or nearly."""
    return kind.bits >= 32 or kind.element_type == TensorProto.BFLOAT16


def squares(graph: Graph, node: NodeProto) -> bool:
    """Whether the node squares data."""
    return node.op_type == "ReduceSumSquare" or square_of(graph, node.output[0]) is not None


def is_signal(graph: Graph, tensor: str) -> bool:
    """Whether the tensor needs no pair to be what it is: a model input, a constant, indices."""
    return not tensor or graph.producer(tensor) is None or graph.element_type(tensor) not in FLOATS


def computed_of_constants(graph: Graph, nodes: Iterable[NodeProto]) -> set[str]:
    """Tensors that are the same in every run though nothing folds them: filter banks too large to store."""
    found: set[str] = set()
    for node in nodes:
        read = graph.reads(node)
        if read and all(graph.is_constant(tensor) or tensor in found for tensor in read):
            found.update(node.output)
    return found


def behind(graph: Graph, nodes: Iterable[NodeProto], ends: dict[int, NodeProto]) -> dict[int, NodeProto]:
    """The ends, and the steps of which nothing but them is computed; ``nodes`` in order, last first."""
    found = dict(ends)
    for node in nodes:
        outputs = [tensor for tensor in node.output if tensor]
        if node.op_type not in STEPS or any(tensor in graph.outputs for tensor in outputs):
            continue
        readers = [reader for tensor in outputs for reader in graph.consumers(tensor) if reader.op_type not in SIZE_OPS]
        if readers and all(id(reader) in found for reader in readers):
            found[id(node)] = node
    return found


@leave_float("FloatSpectrum", stage=Stage.PREPARE, before=("FoldBatchNorm",))
def float_spectrum(graph: Graph, context: Context) -> StaysFloat:
    """Leave the spectrum of a signal float: squares under a root, and what leads from the inputs to it or to a Log."""
    if holds_spectra(context.activation):
        return StaysFloat()
    nodes = graph.sorted()
    squared: set[str] = set()  # tensors that hold squares, or sums of them
    ends: dict[int, NodeProto] = {}
    for node in nodes:
        if squares(graph, node) or (node.op_type in STEPS and not squared.isdisjoint(node.input)):
            squared.update(node.output)
        if node.op_type == "Log" or (node.op_type == "Sqrt" and node.input[0] in squared):
            ends[id(node)] = node
    steps = behind(graph, reversed(nodes), ends) if ends else {}
    signal = computed_of_constants(graph, nodes)  # and tensors that steps alone make of the inputs
    found: dict[str, str] = {}
    for node in nodes:
        if id(node) not in steps:
            continue
        if all(tensor in signal or is_signal(graph, tensor) for tensor in node.input):
            signal.update(node.output)
        elif squared.isdisjoint((*node.input, *node.output)):
            continue
        found[node.name] = REASON
    return StaysFloat(found)
