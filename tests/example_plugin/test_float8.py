"""A float8 type that the host does not know gets scales from what calibration saw, from a plugin of one file."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pluggy
import pytest
from onnx import TensorProto, numpy_helper
from onnxruntime.quantization import CalibrationMethod

from ort_vitis_plugin import PowerOfTwoMethod, quantize_static
from ort_vitis_plugin.numerics.sqnr import sqnr_db
from ort_vitis_plugin.testing import LEVELS, check_plugin, graph, run_model
from tests.example_plugin import ort_vitis_float8

LARGEST = float(ml_dtypes.finfo(ml_dtypes.float8_e5m2).max)
RNG = np.random.default_rng(0)
W = RNG.normal(size=(4, 3, 3, 3)).astype(np.float32) * 1e-3
B = np.float32([0.5, -0.25, 1.0, -1.0])
FEEDS = [{"x": (RNG.normal(size=(1, 3, 6, 6)) * 50).astype(np.float32)} for _ in range(3)]
MODEL = graph("t (float[1,3,6,6] x) => (float[1,4,4,4] y) { y = Conv(x, w, b) }", 17, {"w": W, "b": B})


@pytest.fixture
def float8_plugins(plugins: pluggy.PluginManager) -> pluggy.PluginManager:
    plugins.register(ort_vitis_float8)
    return plugins


def quantized(manager: pluggy.PluginManager, method: Any, **arguments: Any) -> dict[str, Any]:
    """The initializers of the quantized model, which runs at every level with the accuracy of two bits of mantissa."""
    given: dict[str, Any] = {"activation_type": "QFloat8E5M2", "weight_type": "QFloat8E5M2", "quant_format": "Float8"}
    result = quantize_static(MODEL, None, FEEDS, calibrate_method=method, plugins=manager, **given | arguments).model
    onnx.checker.check_model(result, full_check=True)
    exact = run_model(MODEL, FEEDS[0], LEVELS[0])["y"]
    for level in LEVELS:
        assert sqnr_db(exact, run_model(result, FEEDS[0], level)["y"]) > 18
    return {tensor.name: tensor for tensor in result.graph.initializer}


def scale_of(stored: dict[str, Any], tensor: str) -> Any:
    return numpy_helper.to_array(stored[f"{tensor}_scale"])


def reach(values: Any) -> Any:
    return np.abs(values).max()


def test_the_plugin_declares_what_the_host_takes() -> None:
    assert [declared.key for declared in check_plugin(ort_vitis_float8)] == ["QFloat8E5M2", "Float8"]


def test_the_largest_magnitude_lands_on_the_largest_value(float8_plugins: pluggy.PluginManager) -> None:
    stored = quantized(float8_plugins, CalibrationMethod.MinMax)
    y = np.stack([run_model(MODEL, feed, LEVELS[0])["y"] for feed in FEEDS])
    for name, values in {"x": np.stack([feed["x"] for feed in FEEDS]), "w": W, "y": y}.items():
        assert scale_of(stored, name) == pytest.approx(reach(values) / LARGEST, rel=1e-6)
    assert stored["w_quantized"].data_type == TensorProto.FLOAT8E5M2
    codes = numpy_helper.to_array(stored["w_quantized"]).astype(np.float32)
    wanted = (W / scale_of(stored, "w")).astype(ml_dtypes.float8_e5m2).astype(np.float32)
    np.testing.assert_array_equal(codes, wanted)
    assert [name for name in stored if name.endswith("_zero_point")] == ["b_zero_point"]
    bias = numpy_helper.to_array(stored["b_quantized"]) * scale_of(stored, "b").astype(np.float64)
    assert stored["b_quantized"].data_type == TensorProto.INT32
    np.testing.assert_allclose(bias, B, rtol=1e-6)


def test_channels_have_scales_of_their_own(float8_plugins: pluggy.PluginManager) -> None:
    scale = scale_of(quantized(float8_plugins, CalibrationMethod.MinMax, per_channel=True), "w")
    assert scale == pytest.approx(np.abs(W).max(axis=(1, 2, 3)) / LARGEST, rel=1e-6)


@pytest.mark.parametrize("method", PowerOfTwoMethod, ids=str)
def test_methods_of_powers_of_two_take_the_next_one(float8_plugins: pluggy.PluginManager, method: Any) -> None:
    stored = quantized(float8_plugins, method)
    assert scale_of(stored, "w") == np.exp2(np.ceil(np.log2(reach(W) / LARGEST)))


def test_a_stated_scale_is_taken(float8_plugins: pluggy.PluginManager) -> None:
    overrides = {"x": [{"scale": np.float32(0.01), "zero_point": np.int8(0)}]}
    options = {"TensorQuantOverrides": overrides}
    assert scale_of(quantized(float8_plugins, CalibrationMethod.MinMax, extra_options=options), "x") == np.float32(0.01)
