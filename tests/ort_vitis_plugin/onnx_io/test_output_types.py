"""An output without a type gets the one that inference or onnxruntime finds, and a shape that all samples had."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
from onnx import ModelProto, TensorProto

from ort_vitis_plugin.onnx_io.output_types import state_shapes, state_types
from ort_vitis_plugin.onnx_io.sessions import open_session
from ort_vitis_plugin.testing import graph


def untyped(text: str) -> ModelProto:
    model = graph(text)
    for value in model.graph.output:
        value.ClearField("type")
    return model


def test_inference_knows_onnx_and_onnxruntime_its_own() -> None:
    model = untyped("t (float[2, 3] x) => (float[2, 3] y) { y = Relu(x) }")
    state_types(model)
    assert model.graph.output[0].type.tensor_type.elem_type == TensorProto.FLOAT
    own = untyped("t (float16[2, 3] x) => (float16[2, 3] y) { y = Relu(x) }")
    own.graph.node[0].op_type, own.graph.node[0].domain = "QuickGelu", "com.microsoft"
    own.opset_import.add(domain="com.microsoft", version=1)
    own.graph.input[0].type.tensor_type.elem_type = TensorProto.FLOAT
    state_types(own)
    assert own.graph.output[0].type.tensor_type.elem_type == TensorProto.FLOAT


def test_what_nobody_knows_stays_untyped() -> None:
    model = untyped("t (float[2] x) => (float[2] y) { y = Relu(x) }")
    model.graph.node[0].op_type, model.graph.node[0].domain = "Unheard", "nobody"
    model.opset_import.add(domain="nobody", version=1)
    state_types(model)
    assert not model.graph.output[0].type.WhichOneof("value")


def test_ranks_that_every_sample_had_are_stated() -> None:
    model = graph("t (float[2, 3] x) => (float[2, 3] y) { y = Relu(x) }")
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.ClearField("shape")
    session = open_session(model)
    two, one = np.zeros((2, 3), np.float32), np.zeros(3, np.float32)
    mixed = ModelProto.FromString(model.SerializeToString())
    state_shapes(mixed, session, [{"x": two}, {"x": one}], [[two], [one]])
    assert not any(v.type.tensor_type.HasField("shape") for v in (*mixed.graph.input, *mixed.graph.output))
    state_shapes(model, session, [{"x": two}], [[two]])
    assert [len(v.type.tensor_type.shape.dim) for v in (*model.graph.input, *model.graph.output)] == [2, 2]


def test_an_output_that_is_no_tensor_stays_as_it_is() -> None:
    model = untyped("t (float[2] x) => (float[2] y) { y = SequenceConstruct(x) }")
    state_types(model)
    assert model.graph.output[0].type.WhichOneof("value") != "tensor_type"
