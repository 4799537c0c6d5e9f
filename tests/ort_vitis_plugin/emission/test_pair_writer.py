"""What a writer stores beside codes follows from the type: scale and zero point, a scale alone, or the scale 1."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, numpy_helper
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType

from ort_vitis_plugin import PowerOfTwoMethod, VitisQuantFormat, quantize_static
from ort_vitis_plugin.emission.pair_writer import FLOAT8_OPSET, PairWriter, _positive
from ort_vitis_plugin.errors import ModelError, UnsupportedError
from ort_vitis_plugin.numerics.qtypes import host_qtype
from ort_vitis_plugin.numerics.sqnr import sqnr_db
from ort_vitis_plugin.plan import Role, TensorPlan
from ort_vitis_plugin.testing import LEVELS, graph, random_feeds, run_model

FLOAT8 = QuantType.QFLOAT8E4M3FN
RNG = np.random.default_rng(0)
W = RNG.uniform(-0.5, 0.5, (4, 3, 3, 3)).astype(np.float32)
B = np.float32([0.5, -0.25, 1.0, -1.0])
FEEDS = [{"x": RNG.uniform(-1, 2, (1, 3, 6, 6)).astype(np.float32)} for _ in range(3)]
HEAD = "t (float[1,3,6,6] x) => (float[1,4,4,4] y)"
NETWORKS = {
    "Relu": HEAD + "{ h = Conv(x, w, b) y = Relu(h) }",
    "Clip to 0": HEAD + "<float low = {0.0}, float high = {1.0}> { h = Conv(x, w, b) y = Clip(h, low, high) }",
    "Clip": HEAD + "<float low = {-0.2}, float high = {0.5}> { h = Conv(x, w, b) y = Clip(h, low, high) }",
    "MaxPool": "t (float[1,3,6,6] x) => (float[1,4,2,2] y)"
    "{ h = Conv(x, w, b) y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(h) }",
    "Sigmoid": HEAD + "{ h = Conv(x, w, b) y = Sigmoid(h) }",
}


def model(network: str = "Relu", opset: int = 17, smaller: float = 1.0) -> ModelProto:
    return graph(NETWORKS[network], opset, {"w": W * np.float32(smaller), "b": B})


def quantized(source: ModelProto, **arguments: Any) -> ModelProto:
    given: dict[str, Any] = {"activation_type": FLOAT8, "weight_type": FLOAT8, "quant_format": QuantFormat.QDQ}
    given |= {"calibrate_method": CalibrationMethod.MinMax} | arguments
    result: ModelProto = quantize_static(source, None, FEEDS, **given).model
    onnx.checker.check_model(result, full_check=True)
    return result


def worst_sqnr(source: ModelProto, result: ModelProto) -> float:
    """In decibels, over all samples, at the level of optimization at which it is least."""
    exact = np.concatenate([run_model(source, feed, LEVELS[0])["y"] for feed in FEEDS])
    found = [np.concatenate([run_model(result, feed, level)["y"] for feed in FEEDS]) for level in LEVELS]
    return min(sqnr_db(exact, each) for each in found)


def stored(result: ModelProto) -> dict[str, NDArray[Any]]:
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in result.graph.initializer}


@pytest.mark.parametrize("network", NETWORKS)
def test_float8_keeps_what_is_before_its_pair_at_every_level(network: str) -> None:
    assert worst_sqnr(model(network), quantized(model(network))) > 25


@pytest.mark.parametrize("opset", [11, 19, 21, 22])
def test_float8_has_a_scale_from_the_range_and_no_zero_point(opset: int) -> None:
    result = quantized(model(opset=opset))
    assert result.opset_import[0].version == max(opset, FLOAT8_OPSET)
    values = stored(result)
    assert values["x_scale"] == pytest.approx(max(np.abs(feed["x"]).max() for feed in FEEDS) / 448, rel=1e-6)
    assert values["w_scale"] == pytest.approx(np.abs(W).max() / 448, rel=1e-6)
    wanted = (W / values["w_scale"]).astype(ml_dtypes.float8_e4m3fn)
    np.testing.assert_array_equal(values["w_quantized"].astype(np.float32), wanted.astype(np.float32))
    halves = [node for node in result.graph.node if node.op_type in ("QuantizeLinear", "DequantizeLinear")]
    assert {len(node.input) for node in halves if "b_" not in node.name} == {2}


def test_a_bias_beside_float8_never_overflows() -> None:
    """Beside weights so small |b| / (x * w) is above 2^31."""
    source = model("Sigmoid", smaller=1e-7)
    assert worst_sqnr(source, quantized(source)) > 25


CALLS: dict[str, dict[str, Any]] = {
    "per channel": {"per_channel": True},
    "Percentile": {"calibrate_method": CalibrationMethod.Percentile},
    "Distribution": {"calibrate_method": CalibrationMethod.Distribution},
    "MinMSE": {"calibrate_method": PowerOfTwoMethod.MinMSE},
    "weights behind pairs": {"extra_options": {"AddQDQPairToWeight": True}},
    "contributed operators": {"extra_options": {"UseQDQContribOps": True}},
    "int8 weights": {"weight_type": QuantType.QInt8},
    "int8 activations": {"activation_type": QuantType.QInt8},
}


@pytest.mark.parametrize("call", CALLS)
def test_float8_in_calls_of_all_kinds(call: str) -> None:
    assert worst_sqnr(model(), quantized(model(), **CALLS[call])) > 24


def test_float8_is_no_type_of_quantized_operators() -> None:
    with pytest.raises(UnsupportedError, match=r"QFLOAT8E4M3FN cannot be written as QuantFormat\.QOperator; use Qua"):
        quantized(model(), quant_format=QuantFormat.QOperator)


@pytest.mark.parametrize(
    ("kinds", "opset"), [(("QInt8", "QInt16"), 0), (("QInt8", "QFLOAT8E4M3FN"), FLOAT8_OPSET), (("QBFloat16",), 0)]
)
def test_the_least_opset_follows_from_the_types(kinds: tuple[str, ...], opset: int) -> None:
    assert PairWriter.opset_for(map(host_qtype, kinds)) == opset


def test_half_floats_have_the_scale_one() -> None:
    from ort_vitis_plugin import VitisQuantFormat, VitisQuantType

    half = {"activation_type": VitisQuantType.QBFloat16, "weight_type": VitisQuantType.QBFloat16}
    result = quantized(model(), quant_format=VitisQuantFormat.QDQ, **half)
    scales = {tensor.name: tensor for tensor in result.graph.initializer if tensor.name.endswith("_scale")}
    assert {float(numpy_helper.to_array(tensor)) for tensor in scales.values()} == {1.0}
    assert {tensor.data_type for tensor in scales.values()} == {TensorProto.FLOAT}


def test_who_shares_parameters_has_their_type() -> None:
    """An override of what a MaxPool reads holds behind it too."""
    source = model("MaxPool")
    eight = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8}
    options = {"TensorQuantOverrides": {"h": [{"quant_type": QuantType.QInt8}]}}
    result = quantized(source, extra_options=options, **eight)
    (pool,) = (node for node in result.graph.node if node.op_type == "MaxPool")
    (behind,) = (node for node in result.graph.node if pool.output[0] in node.input)
    assert behind.input[2] == "h_zero_point"
    assert stored(result)["h_zero_point"].dtype == stored(result)[behind.input[2]].dtype == np.int8
    assert worst_sqnr(source, result) > 25


@pytest.mark.parametrize(
    ("configuration", "own"),
    [
        ({}, False),
        ({"enable_dpu": True, "activation_type": QuantType.QUInt8}, True),
        ({"quant_format": VitisQuantFormat.FixNeuron}, True),
    ],
    ids=["as onnxruntime", "the NPU", "FixNeuron"],
)
def test_a_compiler_finds_parameters_by_the_tensor_of_their_pair(configuration: Any, own: bool) -> None:
    """A MaxPool's output shares the scale of its input: one initializer, or one of each name."""
    source = model("MaxPool")
    found = quantize_static(source, None, random_feeds(source), **configuration).model
    ends = [node for node in found.graph.node if node.op_type in ("DequantizeLinear", "FixNeuron")]
    written = {tensor.name: numpy_helper.to_array(tensor) for tensor in found.graph.initializer}
    (pool,) = (node for node in found.graph.node if node.op_type == "MaxPool")
    before = next(node for node in ends if pool.input[0] in node.output)
    behind = next(node for node in found.graph.node if pool.output[0] in node.input)
    assert written[before.input[1]] == written[behind.input[1]]
    assert behind.input[1] == ("y_scale" if own else before.input[1])


def test_scales_of_half_floats_are_half_floats() -> None:
    """A native pair computes in the type of its scale."""
    text = "t (float16[1, 4] x) => (float16[1, 4] y) { y = MatMul(x, w) }"
    source = graph(text, 19, {"w": np.eye(4, dtype=np.float16)})
    feeds = [{"x": np.float16([[0.5, -1, 0.25, 1]])}]
    result = quantize_static(source, None, feeds, calibrate_method=CalibrationMethod.MinMax).model
    kinds = {tensor.data_type for tensor in result.graph.initializer if tensor.name.endswith("_scale")}
    assert kinds == {TensorProto.FLOAT16}
    assert run_model(result, feeds[0])["y"].dtype == np.float16


@pytest.mark.parametrize("scale", [0.0, -1.0, -1e-9, np.nan, np.inf, [0.5, 0.0], [0.5, np.nan]])
def test_no_scale_is_written_that_is_not_positive_and_finite(scale: Any) -> None:
    planned = TensorPlan("x", Role.ACTIVATION, host_qtype("QInt8"), np.asarray(scale, np.float32), np.zeros((), int))
    with pytest.raises(ModelError, match=r"the scale of x would be .* leave the nodes that read it float"):
        _positive(planned, np.float32)


@pytest.mark.parametrize("scale", [1e-9, 1e6])
def test_no_scale_of_half_floats_is_lost_in_them(scale: float) -> None:
    planned = TensorPlan("x", Role.ACTIVATION, host_qtype("QInt8"), np.asarray(scale, np.float32), np.zeros((), int))
    assert _positive(planned, np.float32) == np.float32(scale)
    with pytest.raises(ModelError, match=f"would be {'0' if scale < 1 else 'inf'} in float16"):
        _positive(planned, np.float16)
