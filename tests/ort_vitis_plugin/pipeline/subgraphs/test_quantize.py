"""Bodies of If, Loop and Scan: watched in calibration, quantized like graphs of their own."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, helper
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType

from ort_vitis_plugin import PowerOfTwoMethod, VitisQuantFormat, VitisQuantType, quantize_static
from ort_vitis_plugin.errors import UnknownNameError
from ort_vitis_plugin.graph import subgraphs
from ort_vitis_plugin.testing import graph

if TYPE_CHECKING:
    pass
from tests.ort_vitis_plugin.pipeline.subgraphs.bodies import (
    BOTH,
    TURNS,
    bodies,
    branches,
    nodes,
    quantized,
    samples,
    scale_inside,
    sqnr,
    weights,
)

LOOP = """
t (float[2,4] x, int64 turns) => (float[2,4] y) {
  s0 = MatMul(x, w0)
  on = Constant <value = bool {1}> ()
  y = Loop <body = turn (int64 i, bool go_on, float[2,4] s) => (bool goes_on, float[2,4] s_out) {
    goes_on = Identity(go_on)
    mm = MatMul(s, wl)
    s_out = Tanh(mm)
  }> (turns, on, s0)
}
"""


def loop(*, local: bool = False, opset: int = 17) -> ModelProto:
    """Tanh(s @ wl), over and over; the weight is captured, or an initializer of the body."""
    model = graph(LOOP, opset, {"w0": weights(1)} | ({} if local else {"wl": weights(2)}))
    if local:
        body = next(body for node in model.graph.node for body in subgraphs(node))
        body.initializer.append(onnx.numpy_helper.from_array(weights(2), "wl"))
    return model


PAIR = ["QuantizeLinear", "DequantizeLinear"]


def test_without_the_option_bodies_stay_as_they_are() -> None:
    result = quantize_static(branches(), None, samples(**BOTH)).model
    assert bodies(result) == [["MatMul", "Tanh"], ["MatMul", "Sigmoid"]]


def test_a_branch_that_never_ran_stays_float_and_says_so() -> None:
    result = quantized(branches(), samples(which=lambda at: True))
    taken, other = bodies(result.model)
    assert "QuantizeLinear" in taken
    assert other == ["MatMul", "Sigmoid"]
    assert "never ran in calibration" in result.report.left_float["second"]
    assert result.report.quantized["first"] == "MatMul"


def test_what_decodes_a_weight_there_is_not_left_float() -> None:
    text = """t (float[2, 4] x, bool which) => (float[2, 4] y) {
      y = If (which) <
        then_branch = yes () => (float[2, 4] a) { a = Relu(x) },
        else_branch = no () => (float[2, 4] b) {
          s = Constant<value = float {0.5}>() d = DequantizeLinear(c, s) [add] b = Add(x, d)
        }
      >
    }"""
    model = graph(text, 17, {"c": np.ones((2, 4), np.int8)})
    result = quantized(model, samples(which=lambda at: True))
    assert set(result.report.left_float) == {"Relu_a", "add", "If_y"}


def test_a_loop_without_turns_stays_float() -> None:
    result = quantized(loop(), samples(turns=lambda at: np.int64(0)))
    assert bodies(result.model) == [["Identity", "MatMul", "Tanh"]]


@pytest.mark.parametrize("excluded", ["first", "if"])
def test_excluded_nodes_and_what_lies_inside_them(excluded: str) -> None:
    model = branches()
    next(node for node in model.graph.node if node.op_type == "If").name = "if"
    result = quantized(model, samples(**BOTH), nodes_to_exclude=[excluded])
    taken, other = bodies(result.model)
    assert "MatMul" in taken
    is_float = [
        all(reader.op_type != "QuantizeLinear" for reader in nodes(result.model) if node.output[0] in reader.input)
        for node in nodes(result.model)
        if node.name == "first"
    ]
    assert is_float == [True]
    assert ("QuantizeLinear" in other) == (excluded == "first")


def test_a_name_that_no_body_has() -> None:
    with pytest.raises(UnknownNameError, match=r"firsd.*did you mean first"):
        quantized(branches(), samples(**BOTH), nodes_to_exclude=["firsd"])


@pytest.mark.parametrize("local", [False, True], ids=["captured", "local"])
@pytest.mark.parametrize("opset", [13, 17, 21])
def test_a_loop(local: bool, opset: int) -> None:
    model, feeds = loop(local=local, opset=opset), samples(**TURNS)
    result = quantized(model, feeds).model
    (body,) = bodies(result)
    assert body.count("QuantizeLinear") >= 2
    assert sqnr(model, result, feeds) >= 25
    owner = next(node for node in result.graph.node if node.op_type == "Loop")
    stored = {tensor.name: tensor.data_type for body in subgraphs(owner) for tensor in body.initializer}
    assert stored["wl_quantized"] == onnx.TensorProto.INT8
    assert "wl" not in {*stored, *(tensor.name for tensor in result.graph.initializer)}


@pytest.mark.parametrize("equal_names", [False, True], ids=["", "equal names"])
def test_both_branches(equal_names: bool) -> None:
    model, feeds = branches(equal_names=equal_names), samples(**BOTH)
    result = quantized(model, feeds).model
    for body in bodies(result):
        assert body.count("QuantizeLinear") >= 2
    assert sqnr(model, result, feeds) >= 25
    made = [name for node in nodes(result) for name in node.output]
    assert len(made) == len(set(made))


def test_a_captured_tensor_has_the_parameters_of_the_graph_that_makes_it() -> None:
    result = quantized(branches(), samples(**BOTH)).model
    owner = next(node for node in result.graph.node if node.op_type == "If")
    outside = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in result.graph.initializer}
    for body in subgraphs(owner):
        inside = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in body.initializer}
        made = {name for node in body.node for name in node.output}
        (captured,) = [node for node in body.node if node.op_type == "QuantizeLinear" and node.input[0] not in made]
        assert inside[captured.input[1]] == outside["r_scale"]
        assert inside[captured.input[2]] == outside["r_zero_point"]


def test_a_scan() -> None:
    text = """
    t (float[4] start, float[2,4] x) => (float[4] last, float[2,4] y) {
      last, y = Scan <num_scan_inputs = 1, body = turn (float[4] s, float[4] part) => (float[4] s_out, float[4] row) {
        sum = Add(s, part)
        s_out = MatMul(sum, w)
        row = Sigmoid(s_out)
      }> (start, x)
    }
    """
    model = graph(text, 17, {"w": weights(3)})
    feeds = samples(start=lambda at: weights(at, (4,)))
    result = quantized(model, feeds).model
    (body,) = bodies(result)
    assert body.count("QuantizeLinear") >= 4
    assert sqnr(model, result, feeds) >= 25


NESTED = """
t (float[2,4] x, int64 turns, bool which) => (float[2,4] y) {
  h = MatMul(x, w0)
  on = Constant <value = bool {1}> ()
  y = Loop <body = turn (int64 i, bool go_on, float[2,4] s) => (bool goes_on, float[2,4] s_out) {
    goes_on = Identity(go_on)
    mm = MatMul(s, w1)
    s_out = If (which) <
      then_branch = yes () => (float[2,4] a_out) {
        a = MatMul(mm, w2)
        a_out = Tanh(a)
      },
      else_branch = no () => (float[2,4] b_out) {
        b = Add(mm, h)
        b_out = Tanh(b)
      }
    >
  }> (turns, on, h)
}
"""


def test_bodies_in_bodies() -> None:
    model = graph(NESTED, 17, {f"w{at}": weights(at) for at in range(3)})
    feeds = samples(**TURNS, **BOTH)
    result = quantized(model, feeds).model
    outer, *inner = bodies(result)
    assert {"QuantizeLinear", "If"} <= set(outer)
    assert [set(PAIR) <= set(body) for body in inner] == [True, True]
    assert sqnr(model, result, feeds) >= 25


FORMATS = [
    (QuantFormat.QDQ, CalibrationMethod.MinMax, QuantType.QUInt8, 25),
    (QuantFormat.QDQ, CalibrationMethod.Percentile, QuantType.QInt8, 20),
    (QuantFormat.QDQ, PowerOfTwoMethod.NonOverflow, QuantType.QInt8, 25),
    (QuantFormat.QOperator, PowerOfTwoMethod.MinMSE, QuantType.QInt8, 25),
    (VitisQuantFormat.QDQ, PowerOfTwoMethod.MinMSE, QuantType.QInt8, 25),
    (VitisQuantFormat.QDQ, PowerOfTwoMethod.MinMSE, VitisQuantType.QInt16, 60),
    (VitisQuantFormat.QDQ, CalibrationMethod.MinMax, VitisQuantType.QBFloat16, 40),
    (VitisQuantFormat.FixNeuron, PowerOfTwoMethod.MinMSE, QuantType.QInt8, 25),
]


@pytest.mark.parametrize(("quant_format", "method", "kind", "least"), FORMATS)
def test_formats_methods_and_types(quant_format: Any, method: Any, kind: Any, least: float) -> None:
    model, feeds = branches(), samples(**BOTH)
    is_wide = isinstance(kind, VitisQuantType)
    result = quantized(
        model,
        feeds,
        quant_format=quant_format,
        calibrate_method=method,
        activation_type=kind,
        weight_type=kind if is_wide else QuantType.QInt8,
        reduce_range=not is_wide,
    ).model
    for body in bodies(result):
        assert set(body) - {"MatMul", "Tanh", "Sigmoid"}
    assert sqnr(model, result, feeds) >= least


def test_the_position_that_most_samples_have() -> None:
    feeds = samples(7, which=lambda at: True)
    feeds[3]["x"] *= 100
    model = branches()
    scales = {
        mode: scale_inside(quantized(model, feeds, extra_options={"MinMSEMode": mode}).model, "mm")
        for mode in ("All", "MostCommon")
    }
    assert scales["MostCommon"] * 16 <= scales["All"]


def test_overrides_reach_bodies() -> None:
    overrides = {
        "mm": [{"scale": np.float32(0.25), "zero_point": np.int8(0)}],
        "r": [{"quant_type": QuantType.QUInt8}],
        "w1": [{"scale": np.float32(0.5), "zero_point": np.int8(0)}],
    }
    result = quantized(branches(), samples(**BOTH), extra_options={"TensorQuantOverrides": overrides}).model
    assert scale_inside(result, "mm") == 0.25
    assert scale_inside(result, "w1") == 0.5
    outside = {tensor.name: tensor for tensor in result.graph.initializer}
    assert outside["r_zero_point"].data_type == onnx.TensorProto.UINT8


def test_constant_nodes_in_bodies_are_weights() -> None:
    model = loop(local=True)
    body = next(body for node in model.graph.node for body in subgraphs(node))
    value = body.initializer.pop()
    body.node.insert(0, helper.make_node("Constant", [], ["wl"], value=value))
    result = quantized(model, samples(**TURNS), optimize_model=False).model
    assert "Constant" not in bodies(result)[0]
    assert sqnr(model, result, samples(**TURNS)) >= 25
