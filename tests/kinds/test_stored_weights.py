"""Weights that come as codes keep them: nothing is rounded a second time, and integer kernels still take them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from ort_vitis_plugin import quantize_static

from .checks import (
    CONFIGURATIONS,
    Build,
    assert_close,
    constants_of,
    decibels,
    dequantizer,
    model,
    nodes,
    quantized,
    samples,
    weights,
    with_configurations,
)


def codes(*shape: int) -> np.ndarray:
    return np.clip(np.rint(weights(1, *shape) * 80), -127, 127).astype(np.int8)


def spread(count: int) -> np.ndarray:
    return np.geomspace(1e-4, 2e-2, count).astype(np.float32)


def blocks(axis: int = 0) -> ModelProto:
    """MatMul with a weight of four bits in blocks of 16 rows."""
    source = model(
        f"""<ir_version: 10, opset_import: ["" : 21]> t (float[2, 64] x) => (float[2, 8] y)
        {{ w = DequantizeLinear<axis = {axis}, block_size = 16>(c, s) y = MatMul(x, w) }}""",
        {"s": np.abs(weights(2, 4, 8)) + 0.05},
    )
    packed = np.clip(np.rint(weights(1, 64, 8) * 6), -8, 7).astype(int).ravel().tolist()
    source.graph.initializer.append(helper.make_tensor("c", TensorProto.INT4, (64, 8), packed))
    return source


IMAGE = "t (float[1, 3, 6, 6] x) => (float[1, 4, 4, 4] y) "
STORED: dict[str, Build] = {
    "one scale": lambda: model(
        IMAGE + "{ w = DequantizeLinear(c, s) y = Conv(x, w, b) }",
        {"c": codes(4, 3, 3, 3), "s": np.float32(0.01), "b": weights(2, 4)},
    ),
    "channels": lambda: model(
        IMAGE + "{ w = DequantizeLinear<axis = 0>(c, s, z) y = Conv(x, w, b) }",
        {"c": codes(4, 3, 3, 3), "s": spread(4), "z": np.zeros(4, np.int8), "b": weights(2, 4)},
    ),
    "columns of a MatMul": lambda: model(
        "t (float[2, 8] x) => (float[2, 6] y) { w = DequantizeLinear<axis = 1>(c, s) y = MatMul(x, w) }",
        {"c": codes(8, 6), "s": spread(6)},
    ),
    "rows, transposed": lambda: model(
        "t (float[2, 8] x) => (float[2, 6] y) { d = DequantizeLinear<axis = 0>(c, s, z) w = Transpose(d) "
        "y = MatMul(x, w) }",
        {"c": codes(6, 8), "s": spread(6), "z": np.zeros(6, np.int8)},
    ),
    "reshaped": lambda: model(
        "t (float[2, 8] x) => (float[2, 6] y) { d = DequantizeLinear(c, s) w = Reshape(d, shape) y = MatMul(x, w) }",
        {"c": codes(48), "s": np.float32(0.01), "shape": np.array([8, -1], np.int64)},
    ),
    "uint8": lambda: model(
        "t (float[2, 8] x) => (float[2, 6] y) { w = DequantizeLinear(c, s, z) y = MatMul(x, w) }",
        {"c": (codes(8, 6).astype(int) + 128).astype(np.uint8), "s": np.float32(0.01), "z": np.uint8(120)},
    ),
    "of a Gemm": lambda: model(
        "t (float[2, 8] x) => (float[2, 6] y) { w = DequantizeLinear<axis = 0>(c, s) y = Gemm<transB = 1>(x, w, b) }",
        {"c": codes(6, 8), "s": spread(6), "b": weights(2, 6)},
    ),
    "two readers": lambda: model(
        "t (float[2, 8] x) => (float[2, 8] y) { w = DequantizeLinear(c, s) h = MatMul(x, w) y = MatMul(h, w) }",
        {"c": codes(8, 8), "s": np.float32(0.01)},
    ),
    "read as it is and transposed": lambda: model(
        "t (float[2, 4] x) => (float[2, 4] y) { d = DequantizeLinear(c, s) h = MatMul(x, d) w = Transpose(d) "
        "y = MatMul(h, w) }",
        {"c": codes(4, 6), "s": np.float32(0.01)},
    ),
    "embedding": lambda: model(
        "t (int64[1, 4] i) => (float[1, 4, 6] y) { e = DequantizeLinear(c, s) g = Gather(e, i) y = MatMul(g, w) }",
        {"c": codes(16, 8), "s": np.float32(0.01), "w": weights(3, 8, 6)},
    ),
    "four bits in blocks": blocks,
}
WEIGHTED = ("Conv", "MatMul", "Gemm")


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("case", STORED)
def test_codes_stay_and_no_second_pair_follows(case: str, per_channel: bool) -> None:
    source = STORED[case]()
    result = quantized(source, per_channel=per_channel)
    given = {t.name: t for t in source.graph.initializer}
    kept = {t.name: t for t in result.model.graph.initializer}
    if "transposed" not in case and case != "reshaped":
        np.testing.assert_array_equal(numpy_helper.to_array(kept["c"]), numpy_helper.to_array(given["c"]))
    made = {name: node for node in nodes(result) for name in node.output}
    for node in nodes(result, *WEIGHTED):
        if case != "embedding":
            assert made[node.input[1]].input[0] in kept, "a second pair rounds the weight again"
    assert_close(source, result, 30.0)


@pytest.mark.parametrize(("case", "configuration"), with_configurations(STORED, 2))
def test_in_every_configuration(case: str, configuration: str) -> None:
    source = STORED[case]()
    result = quantize_static(source, None, samples(source), **CONFIGURATIONS[configuration])
    assert_close(source, result, 20.0)
    counted = [*result.report.quantized.values(), *result.report.left_float.values(), *result.report.placement]
    assert not any("DequantizeLinear" in each for each in counted), "what decodes a weight computes nothing"


@pytest.mark.parametrize("case", [case for case in STORED if case != "two readers"])
def test_with_precise_kernels_the_model_loads(case: str) -> None:
    source = STORED[case]()
    result = quantized(source)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.add_session_config_entry("session.x64quantprecision", "1")
    ort.InferenceSession(result.model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def test_a_bias_beside_stored_channels_is_int32() -> None:
    result = quantized(STORED["channels"]())
    (conv,) = nodes(result, "Conv")
    scales = [constants_of(result)[dequantizer(result, name).input[1]] for name in conv.input]
    np.testing.assert_allclose(scales[2], scales[0] * scales[1], rtol=1e-6)


def test_stored_channels_lose_nothing_to_a_second_scale() -> None:
    source = STORED["channels"]()
    exact = quantized(source, activation_type="QInt16")
    assert decibels(source, exact.model, samples(source)) > 60


def test_powers_of_two_decode_what_they_cannot_keep() -> None:
    result = quantized(STORED["channels"](), enable_dpu=True, calibrate_method="MinMSE")
    assert any("decoded" in note for note in result.report.notes)
    kept: Any = STORED["one scale"]()
    kept.graph.initializer[1].CopyFrom(helper.make_tensor("s", TensorProto.FLOAT, (), [2.0**-7]))
    result = quantized(kept, enable_dpu=True, calibrate_method="MinMSE")
    assert not any("decoded" in note for note in result.report.notes)
    assert "c" in constants_of(result)


def full_range() -> ModelProto:
    """Two products with int8 codes of full range, two of which exceed 16 bits beside an unsigned byte."""
    drawn = np.random.default_rng(1).integers(-127, 128, (2, 8, 8)).astype(np.int8)
    return model(
        "t (float[2, 8] x) => (float[2, 8] y) { d = DequantizeLinear(c, s) h = MatMul(x, d) "
        "w = DequantizeLinear(e, s) y = MatMul(h, w) }",
        {"c": drawn[0], "e": drawn[1], "s": np.float32(0.01)},
    )


@pytest.mark.parametrize("activation_type", ["QUInt8", "QInt8"])
@pytest.mark.parametrize("quant_format", ["QDQ", "QOperator"])
@pytest.mark.parametrize("case", [case for case in STORED if case not in ("uint8", "embedding", "four bits in blocks")])
def test_with_reduce_range_signed_codes_are_stored_unsigned(case: str, quant_format: str, activation_type: str) -> None:
    source = full_range() if case == "two readers" else STORED[case]()
    result = quantized(source, quant_format=quant_format, activation_type=activation_type, reduce_range=True)
    kept = {t.name: t for t in result.model.graph.initializer}
    assert "c" not in kept or np.abs(numpy_helper.to_array(kept["c"])).max() <= 64
    assert_close(source, result, 30.0)
    assert result.report.fused["y"] > result.report.sqnr["y"] - 1


def test_unsigned_codes_mean_what_signed_ones_did() -> None:
    source = STORED["channels"]()
    signed, unsigned = (quantized(source, reduce_range=reduced) for reduced in (False, True))
    assert decibels(signed.model, unsigned.model, samples(source)) > 100


def test_codes_of_the_caller_do_not_saturate_in_a_default_session() -> None:
    result = quantized(full_range(), activation_type="QInt8")
    assert result.report.fused["y"] > result.report.sqnr["y"] - 3
    assert result.report.sqnr["y"] > 35


@pytest.mark.parametrize("kind", ["FLOAT8E4M3FN", "FLOAT8E5M2"])
@pytest.mark.parametrize("configuration", ["u8s8", "npu", "fix neuron", "vitis int16"])
def test_floats_of_few_bits_are_decoded_with_their_fractions(kind: str, configuration: str) -> None:
    body = "w = DequantizeLinear(c, s) h = MatMul(x, v) y = MatMul(h, w)"
    text = f'<ir_version: 10, opset_import: ["" : 21]> t (float[4, 8] x) => (float[4, 6] y) {{ {body} }}'
    source = model(text, {"v": weights(1, 8, 8), "s": np.float32(0.1)})
    values = np.abs(weights(2, 8, 6)).ravel().tolist()  # below one nearly all: as integers they would be none
    source.graph.initializer.append(helper.make_tensor("c", TensorProto.DataType.Value(kind), (8, 6), values))
    result = quantize_static(source, None, samples(source), **CONFIGURATIONS[configuration])
    assert min(result.report.sqnr.values()) > 25
