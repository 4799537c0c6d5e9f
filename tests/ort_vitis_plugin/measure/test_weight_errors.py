"""Beside each operator stands its copy with rounded constants, and gives what numpy gives."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.measure.weight_errors import PREFIX, attach_layers, attach_rounded, rounded_constants
from ort_vitis_plugin.testing import graph, run_model

W, B = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32), np.float32([0.1, 0.2, 0.3])
X = np.random.default_rng(1).normal(size=(2, 4)).astype(np.float32)


def floats(attributes: str = "") -> ModelProto:
    text = f"t (float[2, 4] x) => (float[2, 3] y) {{ [g] y = Gemm{attributes}(x, w, b) }}"
    return graph(text, constants={"w": W, "b": B})


def fetched(model: ModelProto, *names: str) -> dict[str, Any]:
    model.graph.output.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names)
    return run_model(model, {"x": X})


@pytest.mark.parametrize(("attributes", "beta"), [("", 1.0), ("<beta = 0.5>", 0.5)])
def test_a_copy_for_the_weight_and_the_bias_adds_the_same_everywhere(attributes: str, beta: float) -> None:
    rounded = {"w": np.rint(W), "b": np.rint(B + 1)}
    model, known = floats(attributes), Graph(floats(attributes))
    by_weight, by_bias = copies = attach_rounded(model, known, rounded)
    (whole,) = attach_layers(model, known, rounded, copies)
    assert (by_weight.constant, by_bias.constant, whole.constant) == ("w", "b", "")
    assert {each.wanted for each in (by_weight, by_bias, whole)} == {"y"}
    assert len(model.graph.node) == 2
    assert whole.found.startswith(PREFIX)
    found = fetched(model, by_weight.found)
    for each, wanted in (
        (by_weight, X @ rounded["w"] + beta * B),
        (by_bias, X @ W + beta * rounded["b"]),
        (whole, X @ rounded["w"] + beta * rounded["b"]),
    ):
        shift = 0 if each.shift is None else each.shift
        np.testing.assert_allclose(found[each.found] + shift, wanted, rtol=1e-5)


def test_channels_of_a_convolution_are_shifted() -> None:
    rng = np.random.default_rng(2)
    w, b = rng.normal(size=(2, 3, 1, 1)).astype(np.float32), np.float32([0.4, 0.6])
    text = "t (float[1, 3, 2, 2] x) => (float[1, 2, 2, 2] y) { [c] y = Conv(x, w, b) }"
    model = graph(text, constants={"w": w, "b": b})
    (by_bias,) = attach_rounded(model, Graph(model), {"b": np.rint(b)})
    assert by_bias.shift is not None
    np.testing.assert_allclose(by_bias.shift, (np.rint(b) - b).reshape(2, 1, 1))
    (whole,) = attach_layers(model, Graph(model), {"b": np.rint(b)}, [by_bias])
    assert (whole.shift, whole.found.startswith(PREFIX)) == (None, True)


def test_a_layer_without_bias_is_its_weight_s_copy() -> None:
    text = "t (float[2, 4] x) => (float[2, 3] y) { [m] y = MatMul(x, w) }"
    model = graph(text, constants={"w": W})
    copies = attach_rounded(model, Graph(model), {"w": np.rint(W)})
    assert [each.found for each in attach_layers(model, Graph(model), {"w": np.rint(W)}, copies)] == [copies[0].found]


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
