"""A network whose tensors the tests state parameters of."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, numpy_helper
from onnxruntime.quantization import CalibrationMethod, QuantType

from ort_vitis_plugin import PowerOfTwoMethod, quantize_static
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
