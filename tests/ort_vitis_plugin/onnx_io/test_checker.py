"""The checker takes inputs without a shape, refuses a broken graph, and leaves the model as it was."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import onnx
import pytest

from ort_vitis_plugin.onnx_io.checker import check_model
from ort_vitis_plugin.testing import graph


def test_a_missing_shape_is_no_fault() -> None:
    model = graph("t (float[2] x) => (float[2] y) { y = Relu(x) }")
    model.graph.input[0].type.tensor_type.ClearField("shape")
    with pytest.raises(onnx.checker.ValidationError):
        onnx.checker.check_model(model)
    check_model(model)
    assert not model.graph.input[0].type.tensor_type.HasField("shape")


def test_an_unknown_tensor_is() -> None:
    model = graph("t (float[2] x) => (float[2] y) { y = Relu(x) }")
    model.graph.node[0].input[0] = "nobody"
    with pytest.raises(onnx.checker.ValidationError):
        check_model(model)


def test_types_count_where_they_are_asked_for() -> None:
    model = graph("t (float[2] x) => (float[2] y) { y = Relu(x) }")
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.INT64
    check_model(model)
    with pytest.raises(onnx.shape_inference.InferenceError):
        check_model(model, types=True)
