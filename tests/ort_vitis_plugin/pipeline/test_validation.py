"""Combinations of types that cannot work are refused before any work."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto
from onnxruntime.quantization import QuantType

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.errors import UnsupportedError
from ort_vitis_plugin.testing import graph


def model() -> ModelProto:
    text = "t (float[1,4] x) => (float[1,2] y) { h = MatMul(x, w)\n y = Relu(h) }"
    return graph(text, 17, {"w": np.random.default_rng(0).uniform(-1, 1, (4, 2)).astype(np.float32)})


@pytest.mark.parametrize("weight", [QuantType.QInt8, QuantType.QUInt8, QuantType.QInt16])
@pytest.mark.parametrize("activation", [QuantType.QInt4, QuantType.QUInt4])
def test_four_bit_activations_need_four_bit_weights(activation: QuantType, weight: QuantType) -> None:
    def samples() -> None:
        raise AssertionError("the samples are read")

    with pytest.raises(UnsupportedError, match="activations of 8 bits, or weights of 4 too"):
        quantize_static(model(), None, iter(samples, 0), activation_type=activation, weight_type=weight)


def test_four_bits_throughout() -> None:
    samples = [{"x": np.random.default_rng(seed).uniform(-1, 1, (1, 4)).astype(np.float32)} for seed in range(4)]
    result = quantize_static(model(), None, samples, activation_type=QuantType.QInt4, weight_type=QuantType.QInt4)
    assert result.report.sqnr["y"] > 5
