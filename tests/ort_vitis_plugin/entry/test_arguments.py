"""Arguments of the manual, each seen in the written model: ignored, its test fails."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ort_vitis_plugin as vitis
from ort_vitis_plugin.entry.arguments import is_ours, request_from_ort
from ort_vitis_plugin.testing import graph, op_types
from tests.ort_vitis_plugin.entry.argument_networks import (
    CNN,
    arrays,
    float_nodes,
    normal,
    pairs,
    quantize,
    samples,
)


@pytest.mark.option("quant_format")
@pytest.mark.parametrize(
    ("quant_format", "op_type"),
    [
        (vitis.QuantFormat.QDQ, "QuantizeLinear"),
        (vitis.QuantFormat.QOperator, "QLinearConv"),
        (vitis.VitisQuantFormat.QDQ, "VitisQuantizeLinear"),
        (vitis.VitisQuantFormat.FixNeuron, "FixNeuron"),
    ],
)
def test_format(quant_format: Any, op_type: str) -> None:
    assert op_type in op_types(quantize(CNN, quant_format=quant_format).model)


def scale_of_x(feeds: Any, method: Any) -> float:
    return float(pairs(quantize(CNN, feeds, calibrate_method=method))["x"][0])


@pytest.mark.option("calibrate_method")
def test_power_of_two_methods_cover_or_clip() -> None:
    feeds = [{"x": np.linspace(-4, 4, 192, dtype=np.float32).reshape(1, 3, 8, 8)} for _ in range(8)]
    feeds[0]["x"][0, 0, 0, 0] = 12.2  # 16.2 wide: a little more than 255 / 16
    covering, nearest = (scale_of_x(feeds, method) for method in vitis.PowerOfTwoMethod)
    assert (covering, nearest) == (2.0**-3, 2.0**-4)


@pytest.mark.option("calibrate_method")
def test_float_methods_differ_by_what_they_clip() -> None:
    feeds = samples(CNN, 8)
    feeds[0]["x"][0, 0, 0, 0] = 40.0
    low, high = (float(pick([pick(feed["x"]) for feed in feeds])) for pick in (np.min, np.max))
    methods = vitis.CalibrationMethod
    assert scale_of_x(feeds, methods.MinMax) == pytest.approx((high - low) / 255, rel=1e-3)
    assert scale_of_x(feeds, methods.Percentile) < scale_of_x(feeds, methods.MinMax)


@pytest.mark.option("input_nodes")
def test_before_input_nodes_stays_float() -> None:
    assert float_nodes(quantize(CNN)) == set()
    assert float_nodes(quantize(CNN, input_nodes=["p1"])) == {"c1", "r1"}


@pytest.mark.option("output_nodes")
def test_after_output_nodes_stays_float() -> None:
    assert float_nodes(quantize(CNN, output_nodes=["r1"])) == {"p1", "c2"}


@pytest.mark.option("op_types_to_quantize")
def test_only_these_op_types() -> None:
    assert float_nodes(quantize(CNN, op_types_to_quantize=["Conv"])) == {"r1", "p1"}


@pytest.mark.option("nodes_to_quantize")
def test_only_these_nodes() -> None:
    assert float_nodes(quantize(CNN, nodes_to_quantize=["c1"])) == {"r1", "p1", "c2"}


@pytest.mark.option("nodes_to_exclude")
def test_not_these_nodes() -> None:
    assert float_nodes(quantize(CNN, nodes_to_exclude=["c2"])) == {"c2"}


@pytest.mark.option("per_channel")
def test_a_scale_for_each_channel() -> None:
    floats = {"calibrate_method": vitis.CalibrationMethod.MinMax}
    one, four = (arrays(quantize(CNN, per_channel=flag, **floats))["w_scale"] for flag in (False, True))
    assert (one.shape, four.shape) == ((), (4,))
    assert four.min() < four.max() / 5


@pytest.mark.option("reduce_range")
def test_weights_of_seven_bits() -> None:
    floats = {"calibrate_method": vitis.CalibrationMethod.MinMax}
    full, reduced = (
        np.abs(arrays(quantize(CNN, reduce_range=flag, **floats))["w_quantized"].astype(int)).max()
        for flag in (False, True)
    )
    assert full == 127
    assert reduced == 64 or reduced == 63


@pytest.mark.option("activation_type", "weight_type")
@pytest.mark.parametrize(
    ("activation", "weight"),
    [(vitis.QuantType.QUInt8, vitis.QuantType.QInt8), (vitis.QuantType.QInt8, vitis.QuantType.QUInt8)],
)
def test_types(activation: Any, weight: Any) -> None:
    result = quantize(CNN, activation_type=activation, weight_type=weight)
    names = {vitis.QuantType.QUInt8: "uint8", vitis.QuantType.QInt8: "int8"}
    assert {str(zero.dtype) for _, zero in pairs(result).values()} == {names[activation]}
    assert str(arrays(result)["w_quantized"].dtype) == names[weight]


@pytest.mark.option("optimize_model")
def test_optimization_can_be_skipped() -> None:
    constants = {"v": normal(4, 4, 1, 1), "k": normal(4, 1, 1)}
    model = graph("t (float[1, 4, 8, 8] x) => (float[] y) { h = Conv(x, v) y = Add(h, k) }", constants=constants)
    assert "Add" not in op_types(quantize(model).model)
    assert "Add" in op_types(quantize(model, optimize_model=False).model)


@pytest.mark.option("execution_providers")
def test_calibration_runs_on_the_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    import onnxruntime

    asked: list[Any] = []
    original = onnxruntime.InferenceSession.__init__

    def watched(self: Any, *positional: Any, **named: Any) -> None:
        asked.append(named.get("providers"))
        original(self, *positional, **named)

    monkeypatch.setattr(onnxruntime.InferenceSession, "__init__", watched)
    providers = [("CPUExecutionProvider", {"arena_extend_strategy": "kSameAsRequested"})]
    quantize(CNN, execution_providers=providers)
    assert any(list(entry or ()) == providers for entry in asked)


@pytest.mark.option("enable_dpu")
def test_npu_biases_are_eight_bit_and_scales_powers_of_two() -> None:
    npu, plain = (arrays(quantize(CNN, enable_dpu=flag)) for flag in (True, False))
    assert (npu["b_quantized"].dtype, plain["b_quantized"].dtype) == (np.int8, np.int32)


@pytest.mark.option("extra_options")
def test_both_names_of_an_argument_say_the_same() -> None:
    argument = quantize(CNN, enable_dpu=True).model
    option = quantize(CNN, extra_options={"EnableDPU": True}).model
    assert argument == option


OURS: dict[str, dict[str, Any]] = {
    "a method of ours": {"calibrate_method": vitis.PowerOfTwoMethod.MinMSE},
    "a type of ours": {"weight_type": vitis.VitisQuantType.QInt16},
    "a format of ours": {"quant_format": vitis.VitisQuantFormat.QDQ},
    "a type of ours in an override": {
        "extra_options": {"TensorQuantOverrides": {"x": [{"quant_type": vitis.VitisQuantType.QInt16}]}}
    },
    "an option of the host": {"extra_options": {"Target": "cpu"}},
    "an option of a plugin": {"extra_options": {"MinMSEMode": "All"}},
}
THEIRS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "no options": {"extra_options": {}},
    "an option that both know": {"extra_options": {"WeightSymmetric": True}},
    "overrides of onnxruntime's types": {
        "extra_options": {"TensorQuantOverrides": {"x": [{"quant_type": vitis.QuantType.QUInt16}]}}
    },
    "an option that nobody knows": {"extra_options": {"SomethingElse": 1}},
    "a key that is no text": {"extra_options": {3: 4}},
    "options that are none": {"extra_options": [1]},
}


@pytest.mark.parametrize("case", [*OURS, *THEIRS])
def test_whose_call_it_is(case: str) -> None:
    """At onnxruntime's door a call is ours that asks for something of ours."""
    assert is_ours(OURS.get(case, THEIRS.get(case, {}))) == (case in OURS)


def test_an_argument_that_nobody_knows_is_refused_as_python_refuses_it() -> None:
    with pytest.raises(vitis.errors.OptionTypeError, match="unexpected keyword argument 'per_chanel'"):
        vitis.quantize_static(CNN, None, samples(CNN), per_chanel=True)


def test_providers_of_onnxruntimes_door_calibrate() -> None:
    call = {"model_input": CNN, "model_output": "q.onnx"}
    found = request_from_ort({**call, "calibration_providers": ["CPUExecutionProvider"]})
    assert found.given == {"ExecutionProviders": ["CPUExecutionProvider"]}
    asked = {"ExecutionProviders": ["XExecutionProvider"]}
    both = request_from_ort({**call, "calibration_providers": [], "extra_options": asked})
    assert both.given == asked
    assert request_from_ort(call).given == {}
