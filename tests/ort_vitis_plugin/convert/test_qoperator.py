"""Pairs in other shapes, a trained network and models for the NPU become operators on codes."""

# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType
from onnxruntime.quantization.quantize import quantize_static as ort_quantize_static

import ort_vitis_plugin
from ort_vitis_plugin import PowerOfTwoMethod
from ort_vitis_plugin.convert.integer_kernels import cpu_saturates
from ort_vitis_plugin.demo import data
from ort_vitis_plugin.graph import Skip
from ort_vitis_plugin.testing import LEVELS, run_model
from tests.models import networks
from tests.ort_vitis_plugin.convert.code_pairs import (
    I8,
    U8,
    Pairs,
    check_codes,
    converted,
    finish,
    types,
)


def test_names_that_other_tools_rely_on() -> None:
    result = ort_vitis_plugin.quantize_static(
        onnx.load(data.model_path()), None, data.calibration_reader(4), quant_format=QuantFormat.QOperator
    ).model
    original = {node.name for node in onnx.load(data.model_path()).graph.node}
    convs = [node for node in result.graph.node if node.op_type == "QLinearConv"]
    assert len(convs) == 8
    for node in convs:
        assert node.name.removesuffix("_quant") in original
        assert node.output[0].endswith("_quantized")
        w = node.input[3].removesuffix("_quantized")
        assert list(node.input[3:6]) == [f"{w}_quantized", f"{w}_scale", f"{w}_zero_point"]
    last = result.graph.node[-1]
    assert (last.op_type, last.name) == ("DequantizeLinear", "logits_DequantizeLinear")
    assert (list(last.input), list(last.output)) == (
        ["logits_quantized", "logits_scale", "logits_zero_point"],
        ["logits"],
    )
    assert {entry.domain for entry in result.opset_import} >= {"", "com.microsoft"}


def test_a_pair_for_each_reader_is_one_tensor() -> None:
    pairs = Pairs(U8)
    pairs.op("Sigmoid", [pairs.activation("x", [2, 3])])
    pairs.output("t", "y", 1 / 255, 0)
    pairs.output("t", "z", 1 / 255, 0)
    model = pairs.model("y", "z")
    result = converted(model)
    assert types(result) == ["QuantizeLinear", "QLinearSigmoid", "DequantizeLinear", "DequantizeLinear"]
    check_codes(model, result, 1 / 255)


def test_codes_that_are_a_graph_output_keep_their_name() -> None:
    pairs = Pairs(U8)
    pairs.op("Sigmoid", [pairs.activation("x", [2, 3])])
    pairs.output("t", "y", 1 / 255, 0)
    model = pairs.model("y_Q", kind=TensorProto.UINT8)
    result = converted(model)
    assert types(result) == ["QuantizeLinear", "QLinearSigmoid"]
    assert result.graph.output[0].name == "y_Q"


def test_weights_behind_pairs_are_stored_as_codes() -> None:
    weights = np.random.default_rng(0).uniform(-0.6, 0.6, (4, 3, 3, 3)).astype(np.float32)
    pairs = Pairs(U8)
    pairs.constants["w"] = weights
    ends = pairs.parameters("w", np.full(4, 0.01), np.zeros(4), I8)
    pairs.nodes.append(helper.make_node("QuantizeLinear", ["w", *ends], ["w_Q"], "w_Q", axis=0))
    pairs.nodes.append(helper.make_node("DequantizeLinear", ["w_Q", *ends], ["w_DQ"], "w_DQ", axis=0))
    pairs.op("Conv", [pairs.activation("x", [1, 3, 5, 5]), "w_DQ"])
    model, step = finish(pairs, -6, 6)
    result = converted(model)
    assert types(result) == ["QuantizeLinear", "QLinearConv", "DequantizeLinear"]
    stored = {tensor.name: tensor for tensor in result.graph.initializer}
    assert "w" not in stored
    np.testing.assert_array_equal(
        numpy_helper.to_array(stored["w_quantized"]), np.rint(weights / np.float32(0.01)).astype(np.int8)
    )
    check_codes(model, result, step)


def test_nodes_without_zero_points_mean_zero() -> None:
    pairs = Pairs(U8)
    pairs.op("Sigmoid", [pairs.activation("x", [2, 3])])
    pairs.output("t", "y", 1 / 255, 0)
    model = pairs.model()
    for node in model.graph.node[-2:]:
        del node.input[2]
    result = converted(model)
    assert "QLinearSigmoid" in types(result)
    check_codes(model, result, 1 / 255)


def test_what_a_float_operator_reads_stays_dequantized() -> None:
    pairs = Pairs(U8)
    x = pairs.activation("x", [2, 3])
    pairs.op("Sigmoid", [x])
    pairs.output("t", "y", 1 / 255, 0)
    pairs.nodes.append(helper.make_node("Erf", [x], ["z"], "erf"))
    model = pairs.model("y", "z")
    result = converted(model)
    assert Counter(types(result)) == Counter(
        ["QuantizeLinear", "QLinearSigmoid", "DequantizeLinear", "DequantizeLinear", "Erf"]
    )
    check_codes(model, result, 1 / 255)


# ---------------------------------------------------------------------- a trained network


def session(model: ModelProto, level: Any) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.graph_optimization_level, options.intra_op_num_threads = level, 1
    options.log_severity_level = 3
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("per_channel", [False, True], ids=["tensor", "channel"])
@pytest.mark.parametrize("method", [CalibrationMethod.MinMax, PowerOfTwoMethod.MinMSE])
@pytest.mark.parametrize("activation", [QuantType.QUInt8, QuantType.QInt8])
def test_digits_keep_their_accuracy(activation: Any, method: Any, per_channel: bool) -> None:
    model = ort_vitis_plugin.quantize_static(
        onnx.load(data.model_path()),
        None,
        data.calibration_reader(8),
        calibrate_method=method,
        activation_type=activation,
        weight_type=QuantType.QInt8,
        per_channel=per_channel,
        reduce_range=True,
        extra_options={"Recipe": "plain"},
    ).model
    result = converted(model)
    assert not {"Conv", "Gemm", "Add", "Concat", "GlobalAveragePool"} & set(types(result))
    pairs = session(model, LEVELS[0])
    step = numpy_helper.to_array(next(t for t in result.graph.initializer if t.name == "logits_scale")).item()
    for level in LEVELS:
        operators = session(result, level)
        assert data.evaluate(operators, 150) >= data.evaluate(pairs, 150) - 0.005
        codes = [
            np.abs(operators.run(None, feed)[0] - pairs.run(None, feed)[0]) / step for feed in data.evaluation_feeds(20)
        ]
        assert np.max(codes) <= 3.01  # one code of rounding per layer, twelve layers
        assert np.mean(codes) <= 0.5


@pytest.mark.parametrize("per_channel", [False, True], ids=["tensor", "channel"])
def test_a_model_that_onnxruntime_quantized(tmp_path: Any, per_channel: bool) -> None:
    path = tmp_path / "pairs.onnx"
    ort_quantize_static(
        str(data.model_path()),
        str(path),
        data.calibration_reader(32),
        quant_format=QuantFormat.QDQ,
        per_channel=per_channel,
        reduce_range=True,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
    )
    model = onnx.load(path)
    result = converted(model)
    assert types(result).count("QLinearConv") == types(model).count("Conv") == 8
    pairs = session(model, LEVELS[0])
    for level in LEVELS:
        assert data.evaluate(session(result, level), 200) >= data.evaluate(pairs, 200) - 0.005


# ---------------------------------------------------------------------- models for the NPU


@pytest.mark.parametrize("name", ["digits", pytest.param("depthwise_skewed", marks=pytest.mark.slow)])
def test_npu_models_become_quantized_operators(name: str) -> None:
    """Biases with a position of their own and Relus in front of the pair are no obstacle."""
    model = ort_vitis_plugin.quantize_static(
        str(networks.network(name)),
        None,
        networks.reader(name, 8),
        calibrate_method=PowerOfTwoMethod.MinMSE,
        quant_format=QuantFormat.QDQ,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        enable_dpu=True,
    ).model
    skips: list[Skip] = []
    after = converted(model, skips)
    finer = sum("bias" in skip.reason and skip.op_type == "Conv" for skip in skips)
    assert types(after).count("QLinearConv") == types(model).count("Conv") - types(after).count("Conv")
    assert types(after).count("QGemm") == 1
    assert types(after).count("Conv") <= finer
    assert "Relu" not in types(after)
    for feeds in networks.digits(name, 1, 10).evaluation:
        wanted = run_model(model, feeds, LEVELS[0])["logits"]
        for level in LEVELS:
            found = run_model(after, feeds, level)["logits"]
            if cpu_saturates():  # sums of pairs of products: some logits are a code or two off
                assert np.argmax(found) == np.argmax(wanted)
            else:
                np.testing.assert_array_equal(found, wanted)
