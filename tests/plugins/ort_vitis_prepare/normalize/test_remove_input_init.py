"""Initializers leave the graph inputs; real inputs stay."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto

from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import check_transform, graph, plain_context
from ort_vitis_prepare.normalize.remove_input_init import remove_input_init

W = {"w": np.ones((3, 2), np.float32)}


def test_real_inputs_stay() -> None:
    model = graph("t (float[1, 3] x, float[3, 2] w) => (float[1, 2] y) { y = MatMul(x, w) }")
    assert [value.name for value in check_transform(remove_input_init, model).graph.input] == ["x", "w"]


def listed(ir_version: int) -> ModelProto:
    text = "t (float[3, 2] w, float[1, 3] x) => (float[1, 2] y) { y = MatMul(x, w) }"
    return graph(text, 9, W, ir_version=ir_version)


@pytest.mark.parametrize("ir_version", [3, 4, 8])
def test_initializers_leave(ir_version: int) -> None:
    result = check_transform(remove_input_init, listed(ir_version))
    assert [value.name for value in result.graph.input] == ["x"]
    assert [tensor.name for tensor in result.graph.initializer] == ["w"]
    assert result.ir_version == max(4, ir_version)


def test_they_are_constants_then() -> None:
    edited = Graph(listed(8))
    assert not edited.is_constant("w")
    remove_input_init(edited, plain_context())
    assert edited.is_constant("w")
    assert edited.static_shape("x") == (1, 3)
