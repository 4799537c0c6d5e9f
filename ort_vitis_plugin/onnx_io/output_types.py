"""Inputs and outputs of the written file state type and shape, where the model left them to onnxruntime.

onnx's checker wants both; onnxruntime infers them, also behind operators of its own that onnx does not know.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

from . import external_weights
from .sessions import SILENT, session_options

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from onnx import ModelProto, ValueInfoProto

GENERATED = "unk__"  # onnxruntime's names of dimensions that it does not know
_TYPES = {
    "float": onnx.TensorProto.FLOAT,
    "float16": onnx.TensorProto.FLOAT16,
    "double": onnx.TensorProto.DOUBLE,
    "bfloat16": onnx.TensorProto.BFLOAT16,
    "string": onnx.TensorProto.STRING,
    "bool": onnx.TensorProto.BOOL,
}


def state_types(model: ModelProto) -> None:
    """Give outputs without a type the one that inference finds; those that it does not find stay."""
    untyped = [value for value in model.graph.output if not value.type.WhichOneof("value")]
    if not untyped:
        return
    inferred = onnx.shape_inference.infer_shapes(external_weights.weights_as_inputs(model))
    found = {value.name: value for value in (*inferred.graph.output, *inferred.graph.value_info)}
    for value in untyped:
        if value.name in found:
            value.type.CopyFrom(found[value.name].type)
    _take_types([value for value in untyped if not value.type.WhichOneof("value")], model)


def _take_types(values: list[ValueInfoProto], model: ModelProto) -> None:
    """From a session of onnxruntime, if it takes the model."""
    if not values:
        return
    options = session_options(ort.GraphOptimizationLevel.ORT_DISABLE_ALL, SILENT)
    try:
        session = external_weights.lend_to_session(model, options)
    except Exception:  # the checker says what is missing
        return
    kinds = {value.name: value.type for value in session.get_outputs()}
    for value in values:
        kind = kinds[value.name].removeprefix("tensor(").removesuffix(")")
        if kinds[value.name].startswith("tensor("):
            value.type.tensor_type.elem_type = _TYPES.get(kind) or helper.np_dtype_to_tensor_dtype(np.dtype(kind))


def state_shapes(
    model: ModelProto,
    session: ort.InferenceSession,
    feeds: Sequence[Mapping[str, Any]],
    answers: Sequence[Sequence[Any]],
) -> None:
    """Give inputs and outputs without a shape the rank that they had in every sample, and dimensions known before."""
    outputs = [value.name for value in model.graph.output]
    seen = {name: [answer[at] for answer in answers] for at, name in enumerate(outputs)}
    seen |= {value.name: [feed[value.name] for feed in feeds if value.name in feed] for value in model.graph.input}
    known = {value.name: value.shape for value in (*session.get_inputs(), *session.get_outputs())}
    for value in (*model.graph.input, *model.graph.output):
        if not value.type.HasField("tensor_type") or value.type.tensor_type.HasField("shape"):
            continue
        ranks = {np.ndim(array) for array in seen[value.name]}
        if len(ranks) == 1:
            _state(value, known.get(value.name) or (), ranks.pop())


def _state(value: ValueInfoProto, dims: Iterable[Any], rank: int) -> None:
    listed = [None if isinstance(dim, str) and dim.startswith(GENERATED) else dim for dim in dims]
    shape = listed if len(listed) == rank else [None] * rank
    stated = helper.make_tensor_value_info(value.name, value.type.tensor_type.elem_type, shape)
    value.type.CopyFrom(stated.type)
