"""A bias has the scale of its product unless the caller says otherwise."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, numpy_helper
from onnxruntime.quantization import QuantType

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.testing import LEVELS, graph, run_model
from tests.ort_vitis_plugin.planning.networks import (
    METHODS,
    MIN_MAX,
    MIN_MSE,
    parameters,
    quantized,
)


def test_a_bias_with_an_override_has_parameters_of_its_own() -> None:
    result = quantized({"b": [{"quant_type": QuantType.QInt8}]}).model
    stored = {each.name: each for each in result.graph.initializer}
    assert stored["b_quantized"].data_type == TensorProto.INT8
    assert parameters(result, "b")[0] == pytest.approx(1 / 127, rel=1e-5)


@METHODS
def test_the_weight_of_an_int32_bias_may_be_fixed(method: Any) -> None:
    fixed = {"scale": np.float32(2**-8), "zero_point": np.int8(0)}
    result = quantized({"w": [fixed]}, calibrate_method=method).model
    assert parameters(result, "w")[0] == 2**-8
    stored = {each.name: numpy_helper.to_array(each) for each in result.graph.initializer}
    assert stored["b_quantized_scale"] == np.float32(parameters(result, "x")[0] * 2**-8)


def far_bias() -> tuple[ModelProto, list[dict[str, np.ndarray[Any, Any]]]]:
    """A product of weights so small that its bias has no code at their scale, and samples for it."""
    tiny = graph(
        "t (float[1,4] x) => (float[1,2] y) { y = Gemm(x, w, b) }",
        17,
        {"w": np.full((4, 2), 1e-9, np.float32), "b": np.array([50, -50], np.float32)},
    )
    return tiny, [{"x": np.random.default_rng(0).uniform(-1, 1, (1, 4)).astype(np.float32)} for _ in range(3)]


def test_float_weights_never_lose_their_bias() -> None:
    """The guard enlarges the weight's scale; the option leaves it and the bias saturates."""
    tiny, samples = far_bias()
    errors = {}
    for key in (False, True):
        options = {"QDQDisableWeightAdjustForInt32Bias": key, "SelfCheck": False}
        found = quantize_static(tiny, None, samples, calibrate_method=MIN_MAX, extra_options=options).model
        errors[key] = np.abs(run_model(found, samples[0], LEVELS[0])["y"] - [[50, -50]]).max()
    assert errors[False] < 0.5
    assert errors[True] > 10


@METHODS
def test_a_bias_of_an_ordinary_size_moves_no_scale(method: Any) -> None:
    plain, kept = (
        quantized(calibrate_method=method, extra_options={"QDQDisableWeightAdjustForInt32Bias": key})
        for key in (False, True)
    )
    assert parameters(plain.model, "w") == parameters(kept.model, "w")
    assert not [note for note in plain.report.notes if "enlarged" in note]
    assert not [story for story in plain.report.tensors.values() if "enlarged" in " ".join(map(str, story.changes))]


def test_positions_leave_room_for_an_int32_bias() -> None:
    """x + w is a bound for the solver: 50 * 2^(x + w) stays below 2^31."""
    tiny, samples = far_bias()
    result = quantize_static(tiny, None, samples, calibrate_method=MIN_MSE)
    assert np.abs(run_model(result.model, samples[0], LEVELS[0])["y"] - [[50, -50]]).max() < 0.5
    assert result.report.tensors["w"].moved_by == ("Int32Bias",)


def test_on_the_device_a_bias_has_a_position_of_its_own() -> None:
    result = quantized(calibrate_method=MIN_MSE, activation_type=QuantType.QInt8, enable_dpu=True)
    stored = {each.name: each for each in result.model.graph.initializer}
    assert stored["b_quantized"].data_type == TensorProto.INT8
    assert result.report.tensors["b"].position is not None
