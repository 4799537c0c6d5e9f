"""Plain options of the manual, each seen in the written model: ignored, its test fails."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ort_vitis_plugin as vitis
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import graph
from tests.ort_vitis_plugin.entry.argument_networks import (
    CNN,
    CONSTANTS,
    MATMUL,
    arrays,
    float_nodes,
    normal,
    pairs,
    quantize,
    samples,
)


@pytest.mark.option("extra_options", "ActivationSymmetric")
def test_symmetric_activations() -> None:
    for flag in (False, True):
        feeds = [{"x": np.abs(feed["x"]) + 1} for feed in samples(CNN)]
        _, zero = pairs(quantize(CNN, feeds, extra_options={"ActivationSymmetric": flag}))["x"]
        assert (int(zero) == 0) == flag


@pytest.mark.option("WeightSymmetric")
def test_asymmetric_weights() -> None:
    model = graph(
        "t (float[1, 3, 8, 8] x) => (float[1, 4, 6, 6] y) { y = Conv(x, w) }",
        constants={"w": np.abs(normal(4, 3, 3, 3))},
    )
    for flag in (True, False):
        result = quantize(
            model, calibrate_method=vitis.CalibrationMethod.MinMax, extra_options={"WeightSymmetric": flag}
        )
        assert (int(arrays(result)["w_zero_point"]) == 0) == flag


@pytest.mark.option("UseUnsignedReLU")
def test_relu_outputs_from_zero_up() -> None:
    zeros = []
    for flag in (False, True):
        options = {"ActivationSymmetric": True, "UseUnsignedReLU": flag}
        result = quantize(CNN, activation_type=vitis.QuantType.QUInt8, extra_options=options)
        zeros.append({name: int(zero) for name, (_, zero) in pairs(result).items()})
    assert zeros[0]["x"] == zeros[1]["x"] == 128
    changed = {name: zero for name, zero in zeros[1].items() if zero != zeros[0][name]}
    assert changed
    assert set(changed.values()) == {0}


@pytest.mark.option("QuantizeBias")
def test_biases_stay_float() -> None:
    assert "b_quantized" in arrays(quantize(CNN))
    kept = arrays(quantize(CNN, extra_options={"QuantizeBias": False}))
    np.testing.assert_array_equal(kept["b"], CONSTANTS["b"])


@pytest.mark.option("ForceQuantizeNoInputCheck")
def test_latent_operators_are_forced() -> None:
    model = graph(
        "t (float[1, 3, 4] x) => (float[1, 4, 3] y) { [a] h = Abs(x) [t] y = Transpose<perm = [0, 2, 1]>(h) }"
    )
    for flag in (False, True):
        result = quantize(
            model,
            quant_format=vitis.QuantFormat.QOperator,
            extra_options={"ForceQuantizeNoInputCheck": flag},
        )
        transpose = next(node for node in result.model.graph.node if node.op_type == "Transpose")
        producer = Graph(result.model).producer(transpose.input[0])
        assert producer is not None
        assert (producer.op_type != "Abs") == flag


@pytest.mark.option("MatMulConstBOnly")
def test_products_of_two_activations_stay_float() -> None:
    assert float_nodes(quantize(MATMUL)) == set()
    assert float_nodes(quantize(MATMUL, extra_options={"MatMulConstBOnly": True})) == {"m1"}


@pytest.mark.option("AddQDQPairToWeight")
def test_weights_stay_float_behind_a_pair() -> None:
    for flag in (False, True):
        result = quantize(CNN, extra_options={"AddQDQPairToWeight": flag})
        readers = [node.op_type for node in result.model.graph.node if "w" in node.input]
        assert readers == (["QuantizeLinear"] if flag else [])
        assert ("w_quantized" in arrays(result)) != flag


@pytest.mark.option("OpTypesToExcludeOutputQuantization")
def test_outputs_of_op_types_stay_float() -> None:
    for kept in ([], ["Conv"]):
        result = quantize(CNN, extra_options={"OpTypesToExcludeOutputQuantization": kept})
        producer = Graph(result.model).producer("y")
        assert producer is not None
        assert producer.op_type == ("Conv" if kept else "DequantizeLinear")


@pytest.mark.option("DedicatedQDQPair")
def test_each_reader_has_a_pair_of_its_own() -> None:
    model = graph(
        "t (float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y, float[1, 4, 8, 8] z) { y = Conv(x, v) z = Conv(x, v) }",
        constants={"v": normal(4, 4, 1, 1)},
    )
    for flag, expected in ((False, 1), (True, 2)):
        result = quantize(model, extra_options={"DedicatedQDQPair": flag})
        assert sum("x" in node.input for node in result.model.graph.node) == expected


@pytest.mark.option("QDQOpTypePerChannelSupportToAxis")
def test_the_axis_of_channels() -> None:
    model = graph("t (float[1, 4] x) => (float[1, 5] y) { y = MatMul(x, w) }", constants={"w": normal(4, 5)})
    sizes = [
        arrays(
            quantize(
                model,
                per_channel=True,
                calibrate_method=vitis.CalibrationMethod.MinMax,
                # onnxruntime 1.20.1 has no integer kernel for channels along axis 0.
                extra_options={"QDQOpTypePerChannelSupportToAxis": {"MatMul": axis}, "SelfCheck": False},
            )
        )["w_scale"].size
        for axis in (0, 1)
    ]
    assert sizes == [4, 5]


@pytest.mark.option("UseQDQVitisCustomOps")
@pytest.mark.parametrize(("flag", "domain"), [(True, "com.vai.quantize"), (False, "ai.onnx.contrib")])
def test_the_domain_of_eight_bit_pairs(flag: bool, domain: str) -> None:
    result = quantize(CNN, quant_format=vitis.VitisQuantFormat.QDQ, extra_options={"UseQDQVitisCustomOps": flag})
    quantizers = [node for node in result.model.graph.node if node.op_type.endswith("QuantizeLinear")]
    eight_bit = {node.domain for node in quantizers if "Dequantize" not in node.op_type and node.input[0] != "b"}
    assert eight_bit == {domain}


SKEWED = [{"x": np.abs(feed["x"])} for feed in samples(CNN)]


@pytest.mark.option("CalibTensorRangeSymmetric")
def test_ranges_around_zero() -> None:
    floats = {"calibrate_method": vitis.CalibrationMethod.MinMax, "activation_type": vitis.QuantType.QUInt8}
    zeros = [
        int(pairs(quantize(CNN, SKEWED, extra_options={"CalibTensorRangeSymmetric": flag}, **floats))["x"][1])
        for flag in (False, True)
    ]
    assert zeros[0] == 0
    assert zeros[1] in (127, 128)


def range_of_ramp(**options: Any) -> float:
    """The scale of x over samples that grow from 1 to 4."""
    feeds = [{"x": np.full((1, 3, 8, 8), level, np.float32)} for level in (1, 2, 3, 4)]
    return float(
        pairs(quantize(CNN, feeds, calibrate_method=vitis.CalibrationMethod.MinMax, extra_options=options))["x"][0]
    )


@pytest.mark.option("CalibMovingAverage")
def test_moving_average_forgets_extremes() -> None:
    assert range_of_ramp() == pytest.approx(4 / 255, rel=0.01)
    assert range_of_ramp(CalibMovingAverage=True) < 2 / 255


@pytest.mark.option("CalibMovingAverageConstant")
def test_the_constant_weighs_the_newest() -> None:
    """max <- c * newest + (1 - c) * max, from the first sample on."""
    level = 1.0
    for newest in (2, 3, 4):
        level = 0.5 * newest + 0.5 * level
    assert range_of_ramp(CalibMovingAverage=True, CalibMovingAverageConstant=0.5) == pytest.approx(
        level / 255, rel=0.01
    )


@pytest.mark.option("Int16Scale")
def test_scales_are_m_over_two_to_the_n() -> None:
    def mantissa_bits(scale: float) -> int:
        mantissa, bits = float(np.frexp(scale)[0]), 0
        while mantissa != int(mantissa):
            mantissa, bits = mantissa * 2, bits + 1
        return bits

    floats = {"calibrate_method": vitis.CalibrationMethod.MinMax}
    plain, held = (
        [float(scale) for scale, _ in pairs(quantize(CNN, extra_options={"Int16Scale": flag}, **floats)).values()]
        for flag in (False, True)
    )
    assert max(map(mantissa_bits, plain)) > 16
    assert max(map(mantissa_bits, held)) <= 16
    np.testing.assert_allclose(held, plain, rtol=2**-15, atol=2**-16)  # N ends at 15


@pytest.mark.option("MinMSEMode")
def test_most_common_position_of_the_samples() -> None:
    """Three small samples outvote one large one, whose error counts most when all are taken together."""
    levels = (0.9, 0.9, 0.9, 100.0)
    ramp = np.linspace(-1, 1, 192, dtype=np.float32).reshape(1, 3, 8, 8)
    feeds = [{"x": ramp * np.float32(level)} for level in levels]
    scales = {
        mode: float(pairs(quantize(CNN, feeds, extra_options={"MinMSEMode": mode}))["x"][0])
        for mode in ("All", "MostCommon")
    }
    assert scales["MostCommon"] == 2.0**-7
    assert scales["All"] >= 2.0**-1


@pytest.mark.option("EnableSubgraph")
def test_bodies_are_quantized_on_request() -> None:
    model = graph(
        """t (float[1, 3, 8, 8] x, bool c) => (float[1, 4, 6, 6] y) {
            y = If(c) <
                then_branch = then () => (float[1, 4, 6, 6] p) { p = Conv(x, w) },
                else_branch = otherwise () => (float[1, 4, 6, 6] q) { q = Conv(x, w2) }
            >
        }""",
        constants={"w": normal(4, 3, 3, 3), "w2": normal(4, 3, 3, 3)},
    )

    def inside(result: vitis.Result) -> set[str]:
        node = next(node for node in result.model.graph.node if node.op_type == "If")
        return {inner.op_type for attribute in node.attribute for inner in attribute.g.node}

    assert "DequantizeLinear" not in inside(quantize(model))
    assert "DequantizeLinear" in inside(quantize(model, extra_options={"EnableSubgraph": True}))
