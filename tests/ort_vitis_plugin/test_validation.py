"""What the checker demands beyond what onnxruntime needs is not demanded of the caller."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto
from onnxruntime.quantization import QuantType

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.errors import ModelError, UnsupportedError
from ort_vitis_plugin.testing import graph
from ort_vitis_plugin.validation import settled


def model() -> ModelProto:
    text = "t (float[1,4] x) => (float[1,2] y) { h = MatMul(x, w)\n y = Relu(h) }"
    return graph(text, 17, {"w": np.random.default_rng(0).uniform(-1, 1, (4, 2)).astype(np.float32)})


def test_outputs_need_no_shape() -> None:
    source = model()
    source.graph.output[0].type.tensor_type.ClearField("shape")
    before = source.SerializeToString(deterministic=True)
    assert settled(source).SerializeToString(deterministic=True) == before
    samples = [{"x": np.random.default_rng(1).uniform(-1, 1, (1, 4)).astype(np.float32)}]
    assert quantize_static(source, None, samples).report.quantized


def test_nodes_in_any_order_are_sorted() -> None:
    source = model()
    source.graph.node.insert(0, source.graph.node.pop())
    assert [node.op_type for node in settled(source).graph.node] == ["MatMul", "Relu"]


def test_what_no_order_repairs_is_refused() -> None:
    source = model()
    source.graph.node[0].input[0] = "nothing"
    with pytest.raises(ModelError, match="nothing"):
        settled(source)


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
