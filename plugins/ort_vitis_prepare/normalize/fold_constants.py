"""What depends on constants alone is a constant: weights behind a Transpose, a Cast or arithmetic, shapes of weights.

Only operations that move data, or compute exactly as IEEE 754 says (so that every runtime gives the same bits),
are evaluated, and only while the result stays small. DequantizeLinear is none of them: weights that were
quantized before stay as they are.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from ort_vitis_plugin.api import DEFAULT_DOMAINS, MOVES, SIZE_OPS, Graph, Stage, attribute, outgrows, transform

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from onnx import NodeProto

_ARITHMETIC = "Cast Add Sub Mul Div Neg Abs Sqrt Reciprocal Floor Ceil Max Min Where Equal Greater Less Not And Or Relu"
ARITHMETIC = frozenset(_ARITHMETIC.split())
FOLDABLE = ARITHMETIC | MOVES | SIZE_OPS | {"Concat"}

TYPES = frozenset(
    {
        TensorProto.FLOAT,
        TensorProto.DOUBLE,
        TensorProto.FLOAT16,
        TensorProto.BOOL,
        TensorProto.INT8,
        TensorProto.UINT8,
        TensorProto.INT16,
        TensorProto.UINT16,
        TensorProto.INT32,
        TensorProto.INT64,
    }
)

# Of these a condition may be made: no more elements than its constants have, and the same value on every runtime.
DECIDABLE = FOLDABLE - {"Tile", "Expand", "Div"}


def _values(graph: Graph, node: NodeProto) -> dict[str, NDArray[Any]] | None:
    """The inputs by name if all of them are constants that can be read here."""
    values: dict[str, NDArray[Any]] = {}
    for name in filter(None, node.input):
        proto = graph.initializers.get(name)
        if proto is None or not graph.is_constant(name) or proto.data_type not in TYPES:
            return None
        array = graph.array(name)
        if array is None:
            return None
        values[name] = array
    return values or None


def _elements(graph: Graph, node: NodeProto, values: dict[str, NDArray[Any]]) -> int:
    """How many elements the largest output will have, before it is computed; 0 where it cannot outgrow its inputs."""
    shapes = [graph.static_shape(tensor) for tensor in node.output if tensor]
    known = [math.prod(shape) for shape in shapes if shape is not None]
    if len(known) == len(shapes):
        return max(known)
    if node.op_type == "Tile":
        repeats: list[int] = values[node.input[1]].tolist()
        return values[node.input[0]].size * math.prod(repeats)
    if node.op_type == "Expand":
        return math.prod(np.broadcast_shapes(values[node.input[0]].shape, values[node.input[1]].tolist()))
    if node.op_type in ARITHMETIC:
        return math.prod(np.broadcast_shapes(*(array.shape for array in values.values())))
    return 0


def _outgrows(elements: int, itemsize: int, values: dict[str, NDArray[Any]]) -> bool:
    given = values.values()
    given_size = sum(array.nbytes for array in given)
    return outgrows(elements, elements * itemsize, sum(array.size for array in given), given_size)


def _refusal(graph: Graph, node: NodeProto, values: dict[str, NDArray[Any]]) -> str | None:
    if _outgrows(_elements(graph, node, values), next(iter(values.values())).itemsize, values):
        return "its result is much larger than its inputs"
    # C rounds towards zero, numpy downwards.
    if node.op_type == "Div" and any(array.dtype.kind in "iu" for array in values.values()):
        return "division of integers"
    return None


def _evaluate(
    graph: Graph, nodes: list[NodeProto], values: Mapping[str, NDArray[Any]], names: list[str]
) -> list[NDArray[Any]]:
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), list(array.shape))
        for name, array in values.items()
    ]
    outputs = [helper.make_empty_tensor_value_info(name) for name in names]
    model = helper.make_model(
        helper.make_graph(nodes, "constant", inputs, outputs),
        opset_imports=[helper.make_operatorsetid("", graph.opset)],
    )
    results: list[NDArray[Any]] = [np.asarray(value) for value in ReferenceEvaluator(model).run(names, dict(values))]
    return results


def computed(graph: Graph, tensor: str) -> NDArray[Any] | None:
    """The value of a tensor that depends on constants and static shapes alone, else None; the graph stays as it is."""
    nodes: dict[int, NodeProto] = {}
    values: dict[str, NDArray[Any]] = {}
    waiting = [tensor]
    while waiting:
        name = waiting.pop()
        array = None if name in graph.inputs else graph.array(name)
        node = graph.producer(name)
        if array is not None:
            values[name] = array
        elif node is None or node.op_type not in DECIDABLE or node.domain not in DEFAULT_DOMAINS:
            return None
        elif node.op_type in SIZE_OPS and (shape := graph.static_shape(node.input[0])) is not None:
            values[name] = _measured(node, shape)
        elif id(node) not in nodes:
            nodes[id(node)] = node
            waiting += filter(None, node.input)
    if tensor in values:
        return values[tensor]
    in_order = Graph(helper.make_model(helper.make_graph(list(nodes.values()), "condition", [], []))).sorted()
    return _evaluate(graph, in_order, values, [tensor])[0]


def _measured(node: NodeProto, shape: tuple[int, ...]) -> NDArray[Any]:
    if node.op_type == "Size":
        return np.array(math.prod(shape))
    return np.array(shape[attribute(node, "start", 0) : attribute(node, "end")], np.int64)


@transform("FoldConstants", stage=Stage.NORMALIZE, default=None)
def fold_constants(graph: Graph) -> int:
    """Compute what depends on constants alone: Transpose, Reshape, Cast, arithmetic and the like on weights."""
    count = 0
    for node in graph.sorted():
        if node.op_type not in FOLDABLE or node.domain not in DEFAULT_DOMAINS:
            continue
        if any(tensor in graph.outputs for tensor in node.output):
            continue
        values = _values(graph, node)
        if values is None:
            continue
        reason = _refusal(graph, node, values)
        if reason is not None:
            graph.skip(node, reason)
            continue
        results = _evaluate(graph, [node], values, [tensor for tensor in node.output if tensor])
        if any(_outgrows(result.size, result.itemsize, values) for result in results):
            continue
        graph.remove(node)
        for name, result in zip(filter(None, node.output), results, strict=True):
            graph.put_initializer(numpy_helper.from_array(np.ascontiguousarray(result).reshape(result.shape), name))
        count += 1
    return count
