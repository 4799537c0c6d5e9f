"""Beside each operator stands its copy with rounded constants, and gives what numpy gives."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper

from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.measure.weight_errors import PREFIX, attach_layers, attach_rounded, rounded_constants
from ort_vitis_plugin.testing import graph, run_model

W, B = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32), np.float32([0.1, 0.2, 0.3])
X = np.random.default_rng(1).normal(size=(2, 4)).astype(np.float32)


def floats() -> ModelProto:
    return graph("t (float[2, 4] x) => (float[2, 3] y) { [g] y = Gemm(x, w, b) }", constants={"w": W, "b": B})


def fetched(model: ModelProto, *names: str) -> dict[str, Any]:
    model.graph.output.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names)
    return run_model(model, {"x": X})


def test_a_copy_for_each_constant_and_one_for_all() -> None:
    rounded = {"w": np.rint(W), "b": np.rint(B)}
    model = floats()
    by_weight, by_bias = attach_rounded(model, Graph(floats()), rounded)
    (whole,) = attach_layers(model, Graph(floats()), rounded)
    assert (by_weight.constant, by_bias.constant, whole.constant) == ("w", "b", "")
    assert {each.wanted for each in (by_weight, by_bias, whole)} == {"y"}
    found = fetched(model, by_weight.found, by_bias.found, whole.found)
    np.testing.assert_allclose(found["y"], X @ W + B, rtol=1e-5)
    np.testing.assert_allclose(found[by_weight.found], X @ np.rint(W) + B, rtol=1e-5)
    np.testing.assert_allclose(found[by_bias.found], X @ W + np.rint(B), rtol=1e-5)
    np.testing.assert_allclose(found[whole.found], X @ np.rint(W) + np.rint(B), rtol=1e-5)
    assert whole.found.startswith(PREFIX)


def test_constants_of_another_shape_are_left_out() -> None:
    model = floats()
    assert attach_rounded(model, Graph(floats()), {"w": np.zeros((3, 4), np.float32)}) == []
    assert len(model.graph.node) == 1


def test_codes_are_read_as_their_graph_computes_them() -> None:
    text = "t (float[2, 4] x) => (float[2, 3] y) { v = DequantizeLinear(q, s)  y = MatMul(x, v) }"
    codes = np.arange(12, dtype=np.int8).reshape(4, 3)
    quantized = graph(text, constants={"q": codes, "s": np.array(0.5, np.float32)})
    found = rounded_constants(Graph(quantized), {"w": "v"}, [])
    np.testing.assert_array_equal(found["w"], codes * np.float32(0.5))
    assert rounded_constants(Graph(quantized), {}, []) == {}
