"""The recommended NPU call, seen in the written model: where pairs stand, what is fused, what is simulated."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, numpy_helper

import ort_vitis_plugin as vitis
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import graph

RANDOM = np.random.default_rng(5)


def weights(*shape: int) -> np.ndarray[Any, Any]:
    return (RANDOM.standard_normal(shape) / np.sqrt(np.prod(shape[1:]) or 1)).astype(np.float32)


NETWORK = graph(
    """t (float[1, 3, 9, 9] x) => (float[1, 5] y)
    {
        [conv1] a = Conv<pads = [1, 1, 1, 1]>(x, w1, b1)
        [relu1] r = Relu(a)
        [pool] p = AveragePool<kernel_shape = [3, 3], strides = [3, 3]>(r)
        [gate] s = Sigmoid(p)
        [swish] m = Mul(p, s)
        [conv2] d = Conv(m, w2)
        [leaky] l = LeakyRelu<alpha = 0.1>(d)
        [global] g = GlobalAveragePool(l)
        [flat] f = Flatten(g)
        [gemm] z = Gemm(f, w3, b3)
        [softmax] y = Softmax(z)
    }""",
    constants={
        "w1": weights(4, 3, 3, 3),
        "b1": weights(4),
        "w2": weights(4, 4, 1, 1),
        "w3": weights(4, 5),
        "b3": weights(5),
    },
)


class Samples(vitis.CalibrationDataReader):  # type: ignore[misc]
    def __init__(self) -> None:
        generator = np.random.default_rng(1)
        self.left = [{"x": generator.standard_normal((1, 3, 9, 9)).astype(np.float32)} for _ in range(6)]

    def get_next(self) -> dict[str, Any] | None:
        return self.left.pop() if self.left else None


def quantize(**options: Any) -> vitis.Result:
    return vitis.quantize_static(
        NETWORK,
        None,
        Samples(),
        quant_format=vitis.QuantFormat.QDQ,
        calibrate_method=vitis.PowerOfTwoMethod.MinMSE,
        activation_type=vitis.QuantType.QUInt8,
        weight_type=vitis.QuantType.QInt8,
        enable_dpu=True,
        extra_options={"ActivationSymmetric": True, **options},
    )


@pytest.fixture(scope="module")
def recommended() -> vitis.Result:
    return quantize()


def by_name(model: ModelProto) -> dict[str, NodeProto]:
    return {node.name: node for node in model.graph.node}


def readers(model: ModelProto, node: NodeProto) -> list[str]:
    return [reader.op_type for reader in Graph(model).consumers(node.output[0])]


def scales(model: ModelProto) -> dict[str, float]:
    return {
        tensor.name.removesuffix("_scale"): float(numpy_helper.to_array(tensor))
        for tensor in model.graph.initializer
        if tensor.name.endswith("_scale")
    }


def test_accuracy(recommended: vitis.Result) -> None:
    assert recommended.report.sqnr["y"] > 25
    assert not recommended.report.violations


def test_no_pair_inside_conv_relu(recommended: vitis.Result) -> None:
    nodes = by_name(recommended.model)
    assert readers(recommended.model, nodes["conv1"]) == ["Relu"]
    assert readers(recommended.model, nodes["relu1"]) == ["QuantizeLinear"]
    assert readers(recommended.model, nodes["conv2"]) == ["QuantizeLinear"]


@pytest.mark.option("RemoveQDQConvLeakyRelu")
def test_leaky_relu_fuses_on_request() -> None:
    model = quantize(RemoveQDQConvLeakyRelu=True).model
    assert readers(model, by_name(model)["conv2"]) == ["LeakyRelu"]


def test_pairs_stand_behind_the_factors(recommended: vitis.Result) -> None:
    nodes = by_name(recommended.model)
    for name in ("pool", "gate", "p_Mul", "s_Mul"):
        expected = ["QuantizeLinear"] if name.endswith("_Mul") else ["Mul"]
        assert readers(recommended.model, nodes[name]) == expected
    assert nodes["gate"].op_type == "HardSigmoid"
    factors = {tensor.name: numpy_helper.to_array(tensor) for tensor in recommended.model.graph.initializer}
    assert factors["p_Scale"] == 0.984375


def test_biases_are_eight_bit(recommended: vitis.Result) -> None:
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in recommended.model.graph.initializer}
    assert arrays["b1_quantized"].dtype == np.int8
    assert arrays["b3_quantized"].dtype == np.int8


def test_every_scale_is_a_power_of_two(recommended: vitis.Result) -> None:
    found = scales(recommended.model)
    assert len(found) > 10
    assert all(np.frexp(scale)[0] == 0.5 for scale in found.values())


def test_pools_share_a_position(recommended: vitis.Result) -> None:
    found = scales(recommended.model)
    assert found["r"] == found.get("p", found["r"])
    assert found["l"] == found.get("g", found["l"])


@pytest.mark.option("SimulateDPU")
def test_simulation_can_be_left_out() -> None:
    model = quantize(SimulateDPU=False).model
    assert "HardSigmoid" not in {node.op_type for node in model.graph.node}
    assert "p_Mul" not in by_name(model)


@pytest.mark.option("ConvertSoftmaxToDPUVersion")
def test_the_softmax_of_the_dpu_is_one_operation() -> None:
    result = quantize(ConvertSoftmaxToDPUVersion=True, FloatFinalSoftmax=False)
    found = scales(result.model)
    assert found["y"] == 2**-7
    assert "z" in found
    inner = [node for node in result.model.graph.node if node.op_type in ("Floor", "Pow", "ReduceSum", "Div")]
    assert len(inner) == 4
    edited = Graph(result.model)
    for node in inner:
        assert not [reader for reader in edited.consumers(node.output[0]) if reader.op_type == "QuantizeLinear"]
    assert result.report.quantized["softmax"] == "Softmax"


def test_the_transformer_flow() -> None:
    result = vitis.quantize_static(NETWORK, None, Samples(), extra_options={"Target": "ipu_transformer"})
    assert "HardSigmoid" not in {node.op_type for node in result.model.graph.node}
    assert any(np.frexp(scale)[0] != 0.5 for scale in scales(result.model).values())
    assert result.report.sqnr["y"] > 25
    assert set(result.report.quantized.values()) <= {"Conv", "ConvTranspose", "Gemm", "MatMul"}
