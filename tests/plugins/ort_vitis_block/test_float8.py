"""Float8 as onnxruntime writes it: native pairs with one scale, by the largest magnitude or by least squared error."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper
from onnxruntime.quantization import CalibrationMethod

from ort_vitis_plugin import PowerOfTwoMethod, quantize_static
from ort_vitis_plugin.errors import UnsupportedError
from ort_vitis_plugin.numerics.sqnr import sqnr_db
from ort_vitis_plugin.testing import LEVELS, graph, run_model

RNG = np.random.default_rng(4)
W = RNG.normal(size=(16, 8)).astype(np.float32)
MODEL = graph("t (float[4, 16] x) => (float[4, 8] y) { y = MatMul(x, w) }", 17, {"w": W})
FEEDS = [{"x": RNG.normal(size=(4, 16)).astype(np.float32)} for _ in range(2)]
DTYPES = {"QFLOAT8E4M3FN": ml_dtypes.float8_e4m3fn, "QFLOAT8E5M2": ml_dtypes.float8_e5m2}


def quantized(kind: str, method: Any = CalibrationMethod.MinMax, feeds: Any = FEEDS, **options: Any) -> onnx.ModelProto:
    given = {"activation_type": kind, "weight_type": kind, "calibrate_method": method, "extra_options": options}
    return quantize_static(MODEL, None, feeds, **given).model


def stored(model: onnx.ModelProto) -> dict[str, Any]:
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}


def rounded(values: Any, scale: Any, kind: str) -> Any:
    limit = float(ml_dtypes.finfo(DTYPES[kind]).max)
    return np.clip(values / scale, -limit, limit).astype(DTYPES[kind]).astype(np.float32) * scale


@pytest.mark.parametrize("kind", DTYPES)
def test_the_largest_magnitude_takes_the_largest_value(kind: str) -> None:
    model = quantized(kind)
    found = stored(model)
    limit = float(ml_dtypes.finfo(DTYPES[kind]).max)
    assert float(found["w_scale"]) == pytest.approx(np.abs(W).max() / limit, rel=1e-6)
    codes = found["w_quantized"].astype(np.float32)
    np.testing.assert_array_equal(codes * found["w_scale"], rounded(W, found["w_scale"], kind))
    x = FEEDS[0]["x"]
    wanted = rounded(rounded(x, found["x_scale"], kind) @ rounded(W, found["w_scale"], kind), found["y_scale"], kind)
    for level in LEVELS:
        assert sqnr_db(wanted, run_model(model, FEEDS[0], level)["y"]) > 40


@pytest.mark.parametrize("kind", DTYPES)
def test_what_is_beyond_the_range_saturates(kind: str) -> None:
    model = quantized(kind)
    huge = {"x": np.full((4, 16), 1e6, np.float32)}
    assert np.isfinite(run_model(model, huge, LEVELS[0])["y"]).all()


@pytest.mark.parametrize("kind", DTYPES)
def test_scales_of_least_error_have_no_more_error(kind: str) -> None:
    by_max, by_error = stored(quantized(kind)), stored(quantized(kind, "Float8MSE"))
    reach, least = float(by_max["w_scale"]), float(by_error["w_scale"])
    assert least <= reach * (1 + 1e-6)

    def error(scale: float) -> float:
        return float(np.sum((W - rounded(W, np.float32(scale), kind)) ** 2))

    candidates = [error(reach * 2.0 ** (-k / 8)) for k in range(33)]
    assert error(least) <= min(candidates) * (1 + 1e-5)


def test_methods_for_integers_refuse_it_by_name() -> None:
    with pytest.raises(UnsupportedError, match=r"Float8MSE chooses scales of float8, but \w is QInt8"):
        quantized("QInt8", "Float8MSE")


def test_an_onnxruntime_without_kernels_is_refused_before_work(monkeypatch: pytest.MonkeyPatch) -> None:
    there = "ort_vitis_plugin.pipeline.validation.has_float8_pairs"
    monkeypatch.setattr(there, lambda kind: kind != TensorProto.FLOAT8E5M2)
    read: list[int] = []
    with pytest.raises(UnsupportedError, match=r"has no operators for QFLOAT8E5M2; those from 1\.20 on do"):
        quantized("QFLOAT8E5M2", feeds=(read.append(1) or feed for feed in FEEDS))
    assert not read


def test_power_of_two_methods_take_the_next_power() -> None:
    scale = float(stored(quantized("QFLOAT8E5M2", PowerOfTwoMethod.MinMSE))["w_scale"])
    assert scale == 2.0 ** np.ceil(np.log2(np.abs(W).max() / 57344))
