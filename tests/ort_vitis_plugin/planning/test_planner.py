"""TensorQuantOverrides and the options that choose parameters: alone, and together with positions and rules."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, numpy_helper
from onnxruntime.quantization import CalibrationMethod, QuantType

from ort_vitis_plugin import PowerOfTwoMethod, quantize_static
from ort_vitis_plugin.errors import OptionError
from ort_vitis_plugin.numerics.positions import position_of
from ort_vitis_plugin.testing import LEVELS, graph, run_model

MIN_MAX, MIN_MSE = CalibrationMethod.MinMax, PowerOfTwoMethod.MinMSE
WEIGHTS = np.random.default_rng(0).uniform(-0.5, 0.5, (4, 3, 3, 3)).astype(np.float32)
BIAS = np.array([0.5, -0.25, 1.0, -1.0], np.float32)
SECOND = np.random.default_rng(1).uniform(-0.5, 0.5, (2, 4, 1, 1)).astype(np.float32)


def model() -> ModelProto:
    """Conv, Relu, and two readers of what they make."""
    text = """
    t (float[1,3,6,6] x) => (float[1,2,4,4] y, float[1,4,4,4] z) {
      [conv] h = Conv(x, w, b)
      [relu] r = Relu(h)
      [conv2] y = Conv(r, w2)
      [sigmoid] z = Sigmoid(r)
    }
    """
    return graph(text, 17, {"w": WEIGHTS, "b": BIAS, "w2": SECOND})


def feeds() -> list[dict[str, np.ndarray]]:
    draw = np.random.default_rng(3).uniform
    return [{"x": draw(-1, 2, (1, 3, 6, 6)).astype(np.float32)} for _ in range(4)]


def quantized(overrides: dict[str, Any] | None = None, **arguments: Any) -> Any:
    options = {**arguments.pop("extra_options", {}), "TensorQuantOverrides": overrides or {}}
    arguments = {"calibrate_method": MIN_MAX, "activation_type": QuantType.QUInt8} | arguments
    result = quantize_static(model(), None, feeds(), extra_options=options, **arguments)
    onnx.checker.check_model(result.model, full_check=True)
    for level in LEVELS:
        run_model(result.model, feeds()[0], level)
    return result


def parameters(result: ModelProto, tensor: str) -> tuple[Any, Any, int]:
    """Scale, zero point and element type of a tensor."""
    stored = {each.name: each for each in result.graph.initializer}
    scale, zero = stored[f"{tensor}_scale"], stored[f"{tensor}_zero_point"]
    return numpy_helper.to_array(scale).tolist(), numpy_helper.to_array(zero).tolist(), zero.data_type


METHODS = pytest.mark.parametrize("method", [MIN_MAX, MIN_MSE], ids=["MinMax", "MinMSE"])


@METHODS
def test_scale_and_zero_point_are_taken_as_given(method: Any) -> None:
    fixed = {"scale": np.float32(0.03), "zero_point": np.uint8(77)}
    result = quantized({"x": [fixed]}, calibrate_method=method).model
    assert parameters(result, "x") == (pytest.approx(0.03), 77, TensorProto.UINT8)
    assert parameters(result, "y")[0] != pytest.approx(0.03)


@METHODS
@pytest.mark.parametrize(
    ("kind", "element_type"),
    [
        (QuantType.QInt8, TensorProto.INT8),
        (QuantType.QUInt16, TensorProto.UINT16),
        (QuantType.QInt16, TensorProto.INT16),
    ],
)
def test_a_type_for_one_tensor(method: Any, kind: Any, element_type: int) -> None:
    result = quantized({"x": [{"quant_type": kind}]}, calibrate_method=method).model
    assert parameters(result, "x")[2] == element_type
    assert parameters(result, "y")[2] == TensorProto.UINT8


@METHODS
@pytest.mark.parametrize("kind", [QuantType.QUInt8, QuantType.QInt4, QuantType.QInt16])
def test_a_type_for_one_weight(method: Any, kind: Any) -> None:
    result = quantized({"w": [{"quant_type": kind}]}, calibrate_method=method).model
    stored = {each.name: each.data_type for each in result.graph.initializer}
    assert stored["w_quantized"] == kind.tensor_type
    assert stored["w2_quantized"] == TensorProto.INT8


@METHODS
def test_one_tensor_symmetric(method: Any) -> None:
    assert parameters(quantized({"x": [{"symmetric": True}]}, calibrate_method=method).model, "x")[1] in (127, 128)
    assert parameters(quantized(calibrate_method=method).model, "x")[1] not in (127, 128)


def test_a_range_for_one_tensor() -> None:
    scale, zero, _ = parameters(quantized({"x": [{"rmin": -3.0, "rmax": 5.0}]}).model, "x")
    assert (scale, zero) == (pytest.approx(8 / 255, rel=1e-6), round(3 / (8 / 255)))


def test_a_range_with_positions_takes_the_next_power_of_two() -> None:
    overrides = {"x": [{"rmin": -3.0, "rmax": 5.0}]}
    scale, zero, _ = parameters(quantized(overrides, calibrate_method=MIN_MSE).model, "x")
    assert scale == 2**-4  # 8 / 255 lies between 2^-5 and 2^-4
    assert (0 - zero) * scale <= -3
    assert (255 - zero) * scale >= 5


def test_parameters_for_each_channel() -> None:
    channels = [{"axis": 0, "scale": np.float32(0.01 * (at + 1)), "zero_point": np.int8(0)} for at in range(4)]
    result = quantized({"w": channels}, per_channel=True).model
    scale, zero, _ = parameters(result, "w")
    assert scale == pytest.approx([0.01, 0.02, 0.03, 0.04])
    assert zero == [0, 0, 0, 0]
    stored = {each.name: numpy_helper.to_array(each) for each in result.graph.initializer}
    wanted = np.clip(np.rint(WEIGHTS / np.float32([0.01, 0.02, 0.03, 0.04])[:, None, None, None]), -128, 127)
    np.testing.assert_array_equal(stored["w_quantized"], wanted)


def test_one_bit_less_for_one_weight() -> None:
    stored = {each.name: each for each in quantized({"w": [{"reduce_range": True}]}).model.graph.initializer}
    assert np.abs(numpy_helper.to_array(stored["w_quantized"]).astype(int)).max() <= 64
    assert np.abs(numpy_helper.to_array(stored["w2_quantized"]).astype(int)).max() > 120


def test_a_bias_with_an_override_has_parameters_of_its_own() -> None:
    result = quantized({"b": [{"quant_type": QuantType.QInt8}]}).model
    stored = {each.name: each for each in result.graph.initializer}
    assert stored["b_quantized"].data_type == TensorProto.INT8
    assert parameters(result, "b")[0] == pytest.approx(1 / 127, rel=1e-5)


# ---------------------------------------------------------------------- conversion


@METHODS
def test_some_readers_take_another_type(method: Any) -> None:
    to = {"quant_type": QuantType.QUInt16, "recv_nodes": {"conv2"}}
    result = quantized({"r": [{"quant_type": QuantType.QUInt8, "convert": to}]}, calibrate_method=method).model
    stored = {each.name: each for each in result.graph.initializer}
    producer = {name: node for node in result.graph.node for name in node.output}
    reads = {node.name: producer[node.input[0]] for node in result.graph.node if node.name in ("conv2", "sigmoid")}
    kinds = {name: stored[node.input[2]].data_type for name, node in reads.items()}
    assert kinds == {"conv2": TensorProto.UINT16, "sigmoid": TensorProto.UINT8}
    # The second pair stands behind the first.
    assert producer[producer[reads["conv2"].input[0]].input[0]].op_type == "DequantizeLinear"


def test_all_readers_take_another_type() -> None:
    to = {"quant_type": QuantType.QUInt16}
    result = quantized({"r": [{"quant_type": QuantType.QUInt8, "convert": to}]}).model
    stored = {each.name: each for each in result.graph.initializer}
    producer = {name: node for node in result.graph.node for name in node.output}
    reads = [producer[node.input[0]] for node in result.graph.node if node.name in ("conv2", "sigmoid")]
    assert {stored[node.input[2]].data_type for node in reads} == {TensorProto.UINT16}


def test_a_receiver_that_does_not_read_the_tensor() -> None:
    to = {"quant_type": QuantType.QUInt16, "recv_nodes": {"conv3"}}
    with pytest.raises(OptionError, match="conv3"):
        quantized({"r": [{"quant_type": QuantType.QUInt8, "convert": to}]})


# ---------------------------------------------------------------------- together with positions and rules


@METHODS
def test_the_weight_of_an_int32_bias_may_be_fixed(method: Any) -> None:
    fixed = {"scale": np.float32(2**-8), "zero_point": np.int8(0)}
    result = quantized({"w": [fixed]}, calibrate_method=method).model
    assert parameters(result, "w")[0] == 2**-8
    stored = {each.name: numpy_helper.to_array(each) for each in result.graph.initializer}
    assert stored["b_quantized_scale"] == np.float32(parameters(result, "x")[0] * 2**-8)


def test_rules_move_around_what_is_fixed() -> None:
    """A weight's position that the shift of 16 bits allows only for other positions of the output."""
    fixed = {"scale": np.float32(2**-4), "zero_point": np.int8(0)}
    result = quantized({"w": [fixed]}, calibrate_method=MIN_MSE, enable_dpu=True, activation_type=QuantType.QInt8)
    assert parameters(result.model, "w")[0] == 2**-4
    assert not result.report.violations
    x, w = (position_of(parameters(result.model, name)[0]) for name in ("x", "w"))
    y = position_of(parameters(result.model, "r")[0])
    assert 0 <= w + x - y <= 16  # type: ignore[operator]


def test_what_is_fixed_against_a_rule_is_told() -> None:
    """wpos + ipos - opos = 30 + 0 - 0 is a shift that the DPU does not have."""
    overrides = {
        "x": [{"scale": np.float32(1), "zero_point": np.int8(0)}],
        "w": [{"scale": np.float32(2**-30), "zero_point": np.int8(0)}],
        "r": [{"scale": np.float32(1), "zero_point": np.int8(0)}],
    }
    result = quantize_static(
        model(),
        None,
        feeds(),
        activation_type=QuantType.QInt8,
        enable_dpu=True,
        extra_options={"TensorQuantOverrides": overrides, "SelfCheck": False},
    )
    assert parameters(result.model, "w")[0] == 2**-30
    assert any("conv" in text and "30" in text for text in result.report.violations)


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("override", "culprit"),
    [
        ({"scale": np.float32(0), "zero_point": np.uint8(0)}, "scale"),
        ({"scale": np.float32("nan"), "zero_point": np.uint8(0)}, "scale"),
        ({"scale": np.float32(1), "zero_point": np.int32(300)}, "zero point"),
        ({"scale": np.float32(1)}, "zero"),
    ],
)
def test_parameters_that_cannot_be(override: dict[str, Any], culprit: str) -> None:
    with pytest.raises(OptionError, match=culprit):
        quantized({"x": [override]})


def test_a_tensor_that_does_not_exist() -> None:
    with pytest.raises(OptionError, match="nothing"):
        quantized({"nothing": [{"symmetric": True}]})


# ---------------------------------------------------------------------- other options that choose parameters


@pytest.mark.parametrize("width", [None, 1e-4, 100.0])
def test_minimum_real_range(width: float | None) -> None:
    scale = parameters(quantized(extra_options={"MinimumRealRange": width}).model, "x")[0]
    assert scale == pytest.approx(100 / 255, rel=1e-5) if width == 100.0 else scale < 4 / 255


def test_float_weights_never_lose_their_bias() -> None:
    """The guard enlarges the weight's scale; the option leaves it and the bias saturates."""
    tiny = graph(
        "t (float[1,4] x) => (float[1,2] y) { y = Gemm(x, w, b) }",
        17,
        {"w": np.full((4, 2), 1e-9, np.float32), "b": np.array([50, -50], np.float32)},
    )
    samples = [{"x": np.random.default_rng(0).uniform(-1, 1, (1, 4)).astype(np.float32)} for _ in range(3)]
    errors = {}
    for key in (False, True):
        options = {"QDQDisableWeightAdjustForInt32Bias": key, "SelfCheck": False}
        found = quantize_static(tiny, None, samples, calibrate_method=MIN_MAX, extra_options=options).model
        errors[key] = np.abs(run_model(found, samples[0], LEVELS[0])["y"] - [[50, -50]]).max()
    assert errors[False] < 0.5
    assert errors[True] > 10
