"""A float16 model in float32: every type that says float16 says float32, every constant is widened, which is exact.

Initializers, inputs, outputs, value infos, attributes that hold tensors or name types, sub-graphs and functions.
Casts between the two types then change nothing and go. Outputs differ by what float16 rounded away.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto

from ort_vitis_plugin.api import CallOptions, Context, Graph, Report, Stage, array_of, set_values, transform

from ..normalize.remove_casts import remove_casts

Part = TypeVar("Part")

HALF, SINGLE = TensorProto.FLOAT16, TensorProto.FLOAT

# Attributes whose integer is an element type, in every operator that has them.
TYPE_ATTRIBUTES = frozenset(
    {"to", "dtype", "output_dtype", "output_datatype", "stash_type", "precision", "softmax_precision"}
)


def _tensor(tensor: TensorProto) -> int:
    if tensor.data_type != HALF:
        return 0
    set_values(tensor, array_of(tensor).astype(np.float32))
    return 1


def _type(kind: TypeProto) -> int:
    case = kind.WhichOneof("value")
    if case in ("tensor_type", "sparse_tensor_type"):
        held = getattr(kind, case)
        if held.elem_type != HALF:
            return 0
        held.elem_type = SINGLE
        return 1
    if case in ("sequence_type", "optional_type"):
        return _type(getattr(kind, case).elem_type)
    return _type(kind.map_type.value_type) if case == "map_type" else 0


def _attribute(entry: AttributeProto) -> int:
    if entry.type == AttributeProto.INT:
        if entry.name not in TYPE_ATTRIBUTES or entry.i != HALF:
            return 0
        entry.i = SINGLE
        return 1
    changed = _tensor(entry.t) if entry.type == AttributeProto.TENSOR else 0
    changed += _tensor(entry.sparse_tensor.values) if entry.type == AttributeProto.SPARSE_TENSOR else 0
    changed += _type(entry.tp) if entry.type == AttributeProto.TYPE_PROTO else 0
    changed += _graph(entry.g) if entry.type == AttributeProto.GRAPH else 0
    return (
        changed
        + _all(_tensor, entry.tensors)
        + _all(_type, entry.type_protos)
        + _all(_graph, entry.graphs)
        + sum(_tensor(sparse.values) for sparse in entry.sparse_tensors)
    )


def _all(convert: Callable[[Part], int], parts: Iterable[Part]) -> int:
    return sum(convert(part) for part in parts)


def _node(node: NodeProto) -> int:
    return _all(_attribute, node.attribute)


def _graph(graph: GraphProto) -> int:
    values = (*graph.input, *graph.output, *graph.value_info)
    return (
        _all(_tensor, graph.initializer)
        + sum(_tensor(sparse.values) for sparse in graph.sparse_initializer)
        + sum(_type(value.type) for value in values)
        + _all(_node, graph.node)
    )


def _model(model: ModelProto) -> int:
    """Convert in place; the number of things that were float16."""
    changed = _graph(model.graph)
    for function in model.functions:
        changed += _all(_node, function.node) + sum(_type(value.type) for value in function.value_info)
    return changed


def _summary(changed: int) -> str:
    return f"float16 became float32 in {changed} places" if changed else "no float16 in the model: nothing to convert"


@transform("ConvertFP16ToFP32", stage=Stage.NORMALIZE, default=None)
def fp16_to_fp32(graph: Graph, context: Context) -> int:
    """Turn a float16 model into a float32 one, where convert_fp16_to_fp32 asks for it."""
    if not context.options[CallOptions].convert_fp16_to_fp32:
        return 0
    model = graph.write_back()
    changed = _model(model)
    if changed:
        graph.reload(model)
    context.note(_summary(changed))
    return changed


def convert_fp16_to_fp32(model: ModelProto, report: Report | None = None) -> ModelProto:
    """A float32 copy of the model, without the Casts that are now between equal types."""
    converted = ModelProto()
    converted.CopyFrom(model)
    changed = _model(converted)
    if report is not None:
        report.note(_summary(changed))
    if not changed:
        return converted
    graph = Graph(onnx.shape_inference.infer_shapes(converted), copy=False)
    remove_casts.apply(graph)
    return graph.to_model()
