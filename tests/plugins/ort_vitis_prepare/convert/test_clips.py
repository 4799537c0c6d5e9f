"""Clips that are Relus: bounds 0 and 6 before equalization, lower bound 0 after calibration."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto

from ort_vitis_ipu.prepare.clip_to_relu import clip_to_relu
from ort_vitis_plugin.api import Transform
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import check_transform, graph, op_types, opsets, plain_context, run_model
from ort_vitis_prepare.convert.clip6_to_relu import clip6_to_relu

INPUTS = opsets()[1:]


def clip(body: str, opset: int = 17, constants: str = "") -> ModelProto:
    head = "t (float[2, 3] x, float limit) => (float[2, 3] y)"
    return graph(f"{head} <{constants}> {{ {body} }}" if constants else f"{head} {{ {body} }}", opset)


def attributes(low: float, high: float) -> ModelProto:
    return clip(f"y = Clip<min = {low:.1f}, max = {high:.1f}>(x)", 10)


def inputs(low: float, high: float, opset: int = 17) -> ModelProto:
    return clip("y = Clip(x, lo, hi)", opset, f"float lo = {{{low}}}, float hi = {{{high}}}")


LEFT = {
    "0 to 5.99": inputs(0.0, 5.99),
    "1 to 6": inputs(1.0, 6.0),
    "-1e-7 to 6": inputs(-1e-7, 6.0),
    "attributes 0 to 1": attributes(0.0, 1.0),
    "no maximum": clip("y = Clip(x, lo)", 17, "float lo = {0.0}"),
    "no minimum": clip("e = Identity(hi) y = Clip(x, , e)", 17, "float hi = {6.0}"),
    "attributes, no minimum": clip("y = Clip<max = 6.0>(x)", 10),
    "no bound": clip("y = Clip(x)", 17),
    "a bound is an input": clip("y = Clip(x, limit, hi)", 17, "float hi = {6.0}"),
    "integers": graph("t (int32[3] x) => (int32[3] y) <int32 lo = {0}, int32 hi = {6}> { y = Clip(x, lo, hi) }", 17),
}


@pytest.mark.parametrize("case", LEFT)
def test_clip6_leaves_other_clips(case: str) -> None:
    assert op_types(check_transform(clip6_to_relu, LEFT[case])) == op_types(LEFT[case])


def test_clip6_leaves_the_gate_of_a_hard_swish() -> None:
    model = clip(
        "a = Add(x, three) g = Clip(a, lo, hi) y = Mul(x, g)", 17, "float three = {3}, float lo = {0}, float hi = {6}"
    )
    edited = Graph(model)
    assert clip6_to_relu(edited, plain_context()) == 0
    assert [skip.reason for skip in edited.skips] == ["it gates a product, which would grow without its ceiling"]


@pytest.mark.parametrize("opset", INPUTS)
def test_clip6_with_inputs(opset: int) -> None:
    assert op_types(check_transform(clip6_to_relu, inputs(0.0, 6.0, opset))) == ["Relu"]
    assert clip6_to_relu(Graph(inputs(0.0, 6.0, opset)), plain_context()) == 1


@pytest.mark.parametrize(
    "model",
    [
        attributes(0.0, 6.0),
        attributes(-0.0, 6.0),
        clip("lo = Constant<value_float = 0.0>() hi = Constant<value = float {6.0}>() y = Clip(x, lo, hi)"),
        clip("a = Identity(lo) b = Identity(hi) y = Clip(x, a, b)", 17, "float[1] lo = {0}, float hi = {6}"),
    ],
    ids=["attributes", "minus zero", "Constant nodes", "Identities"],
)
def test_clip6_in_every_spelling(model: ModelProto) -> None:
    assert op_types(check_transform(clip6_to_relu, model)) == ["Relu"]


X = np.linspace(-9, 9, 6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize(("step", "high"), [(clip6_to_relu, 6.0), (clip_to_relu, 4.0)])
def test_the_result_is_max_of_0_and_x(step: Transform, high: float) -> None:
    model = inputs(0.0, high)
    result = check_transform(step, model)
    feeds = {"x": X, "limit": np.array(0, np.float32)}
    np.testing.assert_array_equal(run_model(result, feeds)["y"], np.maximum(X, 0))
    np.testing.assert_array_equal(np.minimum(run_model(result, feeds)["y"], high), run_model(model, feeds)["y"])


NOT_ZERO = {
    "1 to 2 is no Relu": inputs(1.0, 2.0),
    "-1 to 6": inputs(-1.0, 6.0),
    "1e-30 to 6": inputs(1e-30, 6.0),
    "no minimum": clip("y = Clip(x, , hi)", 17, "float hi = {6.0}"),
    "minimum is an input": clip("y = Clip(x, limit)", 17),
    "attributes, default minimum": clip("y = Clip<max = 6.0>(x)", 10),
    "integers": LEFT["integers"],
}


@pytest.mark.parametrize("case", NOT_ZERO)
def test_clip_to_relu_needs_zero(case: str) -> None:
    edited = Graph(NOT_ZERO[case])
    assert clip_to_relu(edited, plain_context()) == 0
    assert [skip.reason for skip in edited.skips] != []


@pytest.mark.parametrize("opset", INPUTS)
def test_clip_to_relu_with_inputs(opset: int) -> None:
    assert op_types(check_transform(clip_to_relu, inputs(0.0, 3.0, opset))) == ["Relu"]


@pytest.mark.parametrize(
    "model",
    [attributes(0.0, 1.0), clip("y = Clip(x, lo, limit)", 17, "float lo = {0.0}"), clip("y = Clip<min = 0.0>(x)", 10)],
    ids=["attributes", "any maximum", "no maximum"],
)
def test_clip_to_relu_in_every_spelling(model: ModelProto) -> None:
    assert op_types(check_transform(clip_to_relu, model)) == ["Relu"]
