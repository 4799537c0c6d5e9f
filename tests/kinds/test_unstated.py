"""Inputs and outputs whose type or shape the model leaves to onnxruntime: the written file states them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import ModelProto

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.errors import ModelError
from ort_vitis_plugin.graph import Graph

from .checks import (
    CONFIGURATIONS,
    FLOAT,
    FLOAT16,
    Build,
    Feed,
    assert_close,
    model,
    quantized,
    samples,
    weights,
    with_configurations,
)

W4 = {"w": weights(1, 4, 3, 3, 3), "b": weights(2, 4)}
HALF = {name: array.astype(np.float16) for name, array in W4.items()}
SOURCES: dict[str, Build] = {
    "Conv": lambda: model("t (float[1, 3, 6, 6] x) => (float[1, 4, 4, 4] y) { h = Conv(x, w, b) y = Relu(h) }", W4),
    "an operator of onnxruntime at the end": lambda: model(
        "t (float[1, 3, 6, 6] x) => (float[1, 4, 4, 4] y) { h = Conv(x, w, b) y = com.microsoft.Gelu(h) }", W4
    ),
    "a free dimension": lambda: model(
        "t (float[n, 4] x) => (float[n, 4] y) { h = MatMul(x, w) y = com.microsoft.QuickGelu(h) }",
        {"w": weights(1, 4, 4)},
    ),
    "dimensions that depend on data": lambda: model(
        "t (float[a, b] x) => (float[c, d] y) "
        "{ n = NonZero(x) f = Cast<to = 1>(n) h = MatMul(w, f) y = com.microsoft.Gelu(h) }",
        {"w": weights(1, 3, 2)},
    ),
    "a scalar": lambda: model(
        "t (float[2, 4] x) => (float y) { h = MatMul(x, w) r = ReduceMean<keepdims = 0>(h) y = com.microsoft.Gelu(r) }",
        {"w": weights(1, 4, 4)},
    ),
}


def without_shapes(source: ModelProto, inputs: bool, outputs: bool) -> ModelProto:
    for value in [*(source.graph.input if inputs else ()), *(source.graph.output if outputs else ())]:
        value.type.tensor_type.ClearField("shape")
    return source


def without_types(source: ModelProto) -> ModelProto:
    for value in source.graph.output:
        value.ClearField("type")
    return source


@pytest.mark.parametrize(("source", "configuration"), with_configurations(SOURCES))
def test_shapes(source: str, configuration: str) -> None:
    feeds = samples(SOURCES[source]())
    for inputs, outputs in ((False, True), (True, False), (True, True)):
        shapeless = without_shapes(SOURCES[source](), inputs, outputs)
        before = shapeless.SerializeToString()
        result = quantize_static(shapeless, None, feeds, **CONFIGURATIONS[configuration])
        assert shapeless.SerializeToString() == before
        onnx.checker.check_model(result.model, full_check=True)
        assert_close(shapeless, result, 10.0, feeds)
        rank = len(Graph(SOURCES[source]()).shape("y") or ())
        assert len(Graph(result.model).shape("y") or ()) == rank


def test_dimensions_that_inference_knows_are_stated_and_others_are_not() -> None:
    known = quantized(without_shapes(SOURCES["an operator of onnxruntime at the end"](), False, True))
    assert Graph(known.model).shape("y") == (1, 4, 4, 4)
    unknown = quantized(without_shapes(SOURCES["dimensions that depend on data"](), False, True))
    assert Graph(unknown.model).shape("y") == (3, None)


@pytest.mark.parametrize("source", SOURCES)
def test_types(source: str) -> None:
    result = quantized(without_types(SOURCES[source]()))
    onnx.checker.check_model(result.model, full_check=True)
    assert Graph(result.model).element_type("y") == FLOAT
    assert_close(SOURCES[source](), result, 20.0)


def test_half_precision_that_must_be_raised_to_opset_19() -> None:
    text = "t (float16[1, 3, 6, 6] x) => (float16[1, 4, 4, 4] y) { h = Conv(x, w, b) y = com.microsoft.Gelu(h) }"
    source = without_shapes(model(text, HALF), False, True)
    result = quantized(source)
    assert Graph(result.model).element_type("y") == FLOAT16
    onnx.checker.check_model(result.model, full_check=True)
    assert_close(source, result, 20.0)


def test_a_rank_that_changes_from_sample_to_sample_stays_open() -> None:
    source = without_shapes(
        model(
            "t (float[2, 8] x, int64[k] s) => (float[a, b] y) { h = MatMul(x, w) y = Reshape(h, s) }",
            {"w": weights(1, 8, 8)},
        ),
        False,
        True,
    )
    feeds: list[Feed] = [{"x": np.full((2, 8), 0.5, np.float32), "s": np.array(s)} for s in ([4, 4], [2, 2, 4])]
    assert Graph(quantized(source, feeds).model).shape("y") is None


def test_a_type_that_nobody_can_know() -> None:
    text = """<ir_version: 8, opset_import: ["" : 17, "my" : 1]>
        t (float[2, 4] x) => (float[2, 4] y) { h = Relu(x) y = my.Unknown(h) }"""
    with pytest.raises(ModelError, match=r"\by\b|type"):
        quantized(without_types(model(text)), [{"x": np.ones((2, 4), np.float32)}])


def test_what_shape_inference_refuses_in_the_float_model_it_may_refuse_in_the_quantized_one() -> None:
    """onnx 1.23 cannot infer MeanVarianceNormalization of opset 13, which onnxruntime runs."""
    text = "t (float[1, 3, 6, 6] x) => (float[1, 4, 4, 4] y) { h = Conv(x, w, b) y = MeanVarianceNormalization(h) }"
    source = model(text, W4)
    result = quantized(source)
    assert result.report.sqnr["y"] > 20
