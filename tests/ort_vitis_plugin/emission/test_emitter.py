"""How pairs are written: domains by type and opset, dedicated pairs, kept activations, pairs on weights."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto, NodeProto, TensorProto, numpy_helper
from onnxruntime.quantization import CalibrationMethod, QuantType

from ort_vitis_plugin import PowerOfTwoMethod, VitisQuantFormat, quantize_static
from ort_vitis_plugin.numerics.sqnr import sqnr_db
from ort_vitis_plugin.testing import LEVELS, graph, run_model
from tests.thinned import thinned

MIN_MAX, MIN_MSE = CalibrationMethod.MinMax, PowerOfTwoMethod.MinMSE
WEIGHTS = np.random.default_rng(0).uniform(-0.5, 0.5, (4, 3, 3, 3)).astype(np.float32)
BIAS = np.array([0.5, -0.25, 1.0, -1.0], np.float32)
NEWEST = 21 if onnxruntime.__version__.startswith("1.20") else 22
PAIR = ("QuantizeLinear", "DequantizeLinear")


def model(opset: int = 17) -> ModelProto:
    text = """
    t (float[1,3,6,6] x) => (float[1,4,4,4] y) {
      [conv] h = Conv(x, w, b)
      [relu] r = Relu(h)
      [sigmoid] r2 = Sigmoid(r)
      [sum] y = Add(r, r2)
    }
    """
    return graph(text, opset, {"w": WEIGHTS, "b": BIAS})


def feeds() -> list[dict[str, np.ndarray]]:
    draw = np.random.default_rng(3).uniform
    return [{"x": draw(-1, 2, (1, 3, 6, 6)).astype(np.float32)} for _ in range(4)]


def quantized(source: ModelProto | None = None, **arguments: Any) -> ModelProto:
    arguments = {"calibrate_method": MIN_MAX, "activation_type": QuantType.QUInt8} | arguments
    result: ModelProto = quantize_static(source or model(), None, feeds(), **arguments).model
    onnx.checker.check_model(result, full_check=True)
    return result


def pairs(result: ModelProto) -> list[NodeProto]:
    return [node for node in result.graph.node if node.op_type in PAIR]


def readers(result: ModelProto, tensor: str) -> list[NodeProto]:
    return [node for node in result.graph.node if tensor in node.input]


# ---------------------------------------------------------------------- types at every opset


# Activations, weights, and the decibels that are to be kept.
KINDS = {
    "A16W8": (QuantType.QInt16, QuantType.QInt8, 40),
    "A16W16": (QuantType.QUInt16, QuantType.QInt16, 75),
    "A8W4": (QuantType.QUInt8, QuantType.QInt4, 18),
    "A8W4, unsigned": (QuantType.QInt8, QuantType.QUInt4, 18),
}


@pytest.mark.parametrize(
    ("opset", "kind", "per_channel", "method"),
    thinned(3, [10, 13, 20, 21, NEWEST], KINDS, [False, True], [MIN_MAX, MIN_MSE]),
)
def test_sixteen_and_four_bits(opset: int, kind: str, per_channel: bool, method: Any) -> None:
    activation, weight, least = KINDS[kind]
    source = model(opset)
    result = quantized(
        source, activation_type=activation, weight_type=weight, per_channel=per_channel, calibrate_method=method
    )
    opsets = {entry.domain: entry.version for entry in result.opset_import}
    stored = {each.name: each.data_type for each in result.graph.initializer}
    for node in pairs(result):
        is_odd = stored[node.input[2]] not in (TensorProto.INT8, TensorProto.UINT8, TensorProto.INT32)
        assert node.domain == ("com.microsoft" if is_odd and opsets[""] < 21 else "")
        assert node.domain in opsets
    assert stored["w_quantized"] == weight.tensor_type
    wanted = np.concatenate([run_model(source, feed, LEVELS[0])["y"] for feed in feeds()])
    for level in LEVELS:
        found = np.concatenate([run_model(result, feed, level)["y"] for feed in feeds()])
        assert sqnr_db(wanted, found) >= least


def test_the_contributed_domain_on_request() -> None:
    assert {node.domain for node in pairs(quantized(extra_options={"UseQDQContribOps": True}))} == {"com.microsoft"}
    assert {node.domain for node in pairs(quantized())} == {""}


@pytest.mark.parametrize(
    ("arguments", "domain"),
    [
        ({"extra_options": {"UseQDQContribOps": True}}, "com.microsoft"),
        ({"quant_format": VitisQuantFormat.FixNeuron, "activation_type": QuantType.QInt8}, "ai.onnx.contrib"),
    ],
)
@pytest.mark.parametrize("contributed", [False, True])
def test_every_domain_is_imported_once_beside_those_of_the_model(
    arguments: dict[str, Any], domain: str, contributed: bool
) -> None:
    source = model()
    if contributed:
        source.graph.node[2].CopyFrom(onnx.helper.make_node("QuickGelu", ["r"], ["r2"], "g", domain="com.microsoft"))
        source.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    imports = [entry.domain for entry in quantized(source, **arguments).opset_import]
    assert sorted(imports) == sorted({"", domain, *(["com.microsoft"] if contributed else [])})


# ---------------------------------------------------------------------- pairs


def test_each_reader_may_have_a_pair_of_its_own() -> None:
    shared = [node for node in pairs(quantized()) if node.name.startswith("r_Q")]
    own = [node for node in pairs(quantized(extra_options={"DedicatedQDQPair": True})) if node.name.startswith("r_Q")]
    assert [node.name for node in shared] == ["r_QuantizeLinear"]
    assert sorted(node.name for node in own) == ["r_QuantizeLinear_1", "r_QuantizeLinear_2"]
    assert len({tuple(node.input[1:]) for node in own}) == 1


def test_an_output_that_is_read_too_has_a_pair_of_its_own() -> None:
    source = model()
    source.graph.output.append(onnx.helper.make_tensor_value_info("r", TensorProto.FLOAT, [1, 4, 4, 4]))
    own = [
        node
        for node in pairs(quantized(source, extra_options={"DedicatedQDQPair": True}))
        if node.name.startswith("r_")
    ]
    ends = {node.output[0] for node in own if node.op_type == "DequantizeLinear"}
    assert sorted(node.name for node in own if node.op_type == "QuantizeLinear") == [
        f"r_QuantizeLinear_{number}" for number in (1, 2, 3)
    ]
    assert "r" in ends


def test_weights_may_stay_float() -> None:
    result = quantized(extra_options={"AddQDQPairToWeight": True})
    stored = {each.name: numpy_helper.to_array(each) for each in result.graph.initializer}
    np.testing.assert_array_equal(stored["w"], WEIGHTS)
    assert [node.op_type for node in readers(result, "w")] == ["QuantizeLinear"]
    assert "w" not in {each.name for each in quantized().graph.initializer}


def test_a_needless_relu_may_stay() -> None:
    assert "Relu" not in {node.op_type for node in quantized().graph.node}
    kept = quantized(extra_options={"QDQKeepRemovableActivations": True})
    assert "Relu" in {node.op_type for node in kept.graph.node}


def test_biases_may_stay_float() -> None:
    result = quantized(extra_options={"QuantizeBias": False})
    (conv,) = [node for node in result.graph.node if node.op_type == "Conv"]
    assert conv.input[2] == "b"
    assert "b_quantized" in {each.name for each in quantized().graph.initializer}


def test_outputs_of_an_op_type_may_stay_float() -> None:
    assert [node.op_type for node in readers(quantized(), "r2")] == ["QuantizeLinear"]
    excluded = quantized(
        op_types_to_quantize=["Conv", "Sigmoid"], extra_options={"OpTypesToExcludeOutputQuantization": ["Sigmoid"]}
    )
    assert [node.op_type for node in readers(excluded, "r2")] == ["Add"]


def test_names_follow_the_tensor() -> None:
    result = quantized()
    made = Counter(node.name for node in result.graph.node)
    assert max(made.values()) == 1
    assert {"x_QuantizeLinear", "x_DequantizeLinear", "w_DequantizeLinear", "b_DequantizeLinear"} <= set(made)
    assert {"y_QuantizeLinear", "y_DequantizeLinear"} <= set(made)
    stored = {each.name for each in result.graph.initializer}
    assert {"x_scale", "x_zero_point", "w_quantized", "w_scale", "w_zero_point"} <= stored
    assert {"b_quantized", "b_quantized_scale", "b_quantized_zero_point"} <= stored
    last = next(node for node in result.graph.node if node.name == "y_DequantizeLinear")
    assert list(last.output) == ["y"]


def test_a_float16_model_keeps_its_type() -> None:
    half = graph(
        "t (float16[1,4] x) => (float16[1,2] y) { y = Gemm(x, w, b) }",
        21,
        {"w": np.full((4, 2), 0.25, np.float16), "b": np.array([1, -1], np.float16)},
        ir_version=10,
    )
    draw = np.random.default_rng(0).uniform(-1, 1, (3, 1, 4)).astype(np.float16)
    result = quantize_static(half, None, [{"x": x} for x in draw], calibrate_method=MIN_MAX).model
    onnx.checker.check_model(result, full_check=True)
    stored = {each.name: each.data_type for each in result.graph.initializer}
    assert stored["x_scale"] == TensorProto.FLOAT16
    assert run_model(result, {"x": draw[0]})["y"].dtype == np.float16


@pytest.mark.parametrize("deciding", ["i = Cast<to = 7>(h)", 'i = Resize<mode = "nearest">(h, , twice)'])
def test_what_reads_an_output_that_is_computed_in_codes_reads_its_pair(deciding: str) -> None:
    """Whoever takes floats as they are finds none there, whether the tensor leaves the graph or not."""
    kind = "int64[1, 4, 4, 4]" if "Cast" in deciding else "float[1, 4, 8, 8]"
    text = f"t (float[1,3,6,6] x) => (float[1,4,4,4] h, {kind} i) {{ h = Conv(x, w, b) {deciding} }}"
    source = graph(text, 17, {"w": WEIGHTS, "b": BIAS, "twice": np.array([1, 1, 2, 2], np.float32)})
    result = quantized(source)
    (reader,) = (node for node in result.graph.node if node.op_type in ("Cast", "Resize"))
    assert reader.input[0] == "h"
