"""What the caller states of a tensor is what it gets."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper
from onnxruntime.quantization import QuantFormat, QuantType

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.errors import OptionError
from ort_vitis_plugin.testing import graph
from tests.ort_vitis_plugin.planning.networks import (
    METHODS,
    MIN_MAX,
    MIN_MSE,
    parameters,
    quantized,
)


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


def test_one_bit_less_for_one_weight() -> None:
    stored = {each.name: each for each in quantized({"w": [{"reduce_range": True}]}).model.graph.initializer}
    assert np.abs(numpy_helper.to_array(stored["w_quantized"]).astype(int)).max() <= 64
    assert np.abs(numpy_helper.to_array(stored["w2_quantized"]).astype(int)).max() > 120


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


@pytest.mark.parametrize("width", [None, 1e-4, 100.0])
def test_minimum_real_range(width: float | None) -> None:
    scale = parameters(quantized(extra_options={"MinimumRealRange": width}).model, "x")[0]
    assert scale == pytest.approx(100 / 255, rel=1e-5) if width == 100.0 else scale < 4 / 255


@pytest.mark.parametrize("asked", [False, True])
def test_a_sigmoid_has_the_scale_of_nnapi_where_it_is_asked_for(asked: bool) -> None:
    options = {"extra.Sigmoid.nnapi": asked}
    found = quantized(extra_options=options, quant_format=QuantFormat.QOperator).model
    assert (parameters(found, "z")[0] == 1 / 256) == asked


@pytest.mark.parametrize("kind", [QuantType.QInt8, QuantType.QUInt8])
def test_the_step_of_a_weight_is_as_fine_as_what_counts_allows(kind: QuantType) -> None:
    """A row that multiplies nothing but zeros does not hold the step, wherever the zero point lies."""
    w = np.random.default_rng(0).uniform(-1, 1, (8, 4)).astype(np.float32)
    w[3] *= 100
    samples = [{"x": np.random.default_rng(at).uniform(-1, 1, (1, 8)).astype(np.float32)} for at in range(16)]
    for feed in samples:
        feed["x"][0, 3] = 0
    matrix = graph("t (float[1,8] x) => (float[1,4] y) { y = MatMul(x, w) }", 17, {"w": w})
    options = {"Target": "cpu", "WeightSymmetric": True}
    found = quantize_static(
        matrix, None, samples, calibrate_method=MIN_MAX, weight_type=kind, extra_options=options
    ).model
    assert parameters(found, "w")[0] < 2.1 / 127
