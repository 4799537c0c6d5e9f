"""What users of onnxruntime ask of a call gives what its own code gives: nodes, types, opsets, ranges, overrides."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType

from ort_vitis_plugin.errors import QuantizationError
from tests.kinds.checks import Arguments, constants_of, model, nodes, samples, weights

from .both import compared, decibels, ours, parameters, theirs
from .operators import source
from .situations import U16, agree, domains, fan, network, recent
from .test_operators import FAITHFUL, QOPERATOR, S8S8, U8S8, U8U8

pytestmark = pytest.mark.filterwarnings("ignore")

# ---------------------------------------------------------------------- which nodes

SELECTIONS: dict[str, Arguments] = {
    "nodes to quantize": {"nodes_to_quantize": ["MatMul"]},
    "nodes to exclude": {"nodes_to_exclude": ["Add"]},
    "op types": {"op_types_to_quantize": ["MatMul"]},
    "no output of a type": {"extra_options": {"OpTypesToExcludeOutputQuantization": ["MatMul"]}},
    "pairs of their own": {"extra_options": {"DedicatedQDQPair": True}},
    "pairs on weights": {"extra_options": {"AddQDQPairToWeight": True}},
    "constant operands only": {"extra_options": {"MatMulConstBOnly": True}},
    "biases left float": {"extra_options": {"QuantizeBias": False}},
    "whatever the input is": {"extra_options": {"ForceQuantizeNoInputCheck": True}},
}


@pytest.mark.parametrize("name", SELECTIONS)
@pytest.mark.parametrize("build", [fan, network])
def test_selections(name: str, build: Callable[[], ModelProto]) -> None:
    arguments = dict(SELECTIONS[name])
    if build is network and "nodes" in name:
        arguments = {key: ["Conv_0", "MatMul_6"] for key in arguments}
    agree(build(), **U8S8, **arguments)


@pytest.mark.parametrize("arguments", [U8U8, S8S8, {**S8S8, "extra_options": {"ActivationSymmetric": True}}])
@pytest.mark.parametrize("keep", [False, True])
def test_activations_that_codes_replace(keep: bool, arguments: Arguments) -> None:
    options = {**arguments.get("extra_options", {}), "QDQKeepRemovableActivations": keep}
    for name in ("Conv and Relu", "Clip of limits", "Relu of the input"):
        result = agree(source(name), **{**arguments, "extra_options": options})
        assert not keep or nodes(result, "Relu", "Clip")


# ---------------------------------------------------------------------- types and opsets

WIDE: dict[str, Arguments] = {
    "16 bits": {"activation_type": QuantType.QUInt16, "weight_type": QuantType.QInt8},
    "16 bits as contributed": {"activation_type": QuantType.QInt16, "extra_options": {"UseQDQContribOps": True}},
    "4 bits": {**U8S8, "weight_type": QuantType.QInt4},
    "unsigned 4 bits": {**U8S8, "weight_type": QuantType.QUInt4, "extra_options": {"WeightSymmetric": True}},
    "4 bits by channel": {**U8S8, "weight_type": QuantType.QInt4, "per_channel": True},
    "one tensor of 16 bits": {**U8S8, "extra_options": {"TensorQuantOverrides": {"r": [U16]}}},
    "16 bits, then 4": {"activation_type": QuantType.QUInt16, "weight_type": QuantType.QInt4},
}


@recent
@pytest.mark.parametrize("opset", [13, 19, 21])
@pytest.mark.parametrize("name", WIDE)
def test_types_and_opsets(name: str, opset: int) -> None:
    proto = network(opset)
    left, right = theirs(proto, **WIDE[name]), ours(proto, **WIDE[name])
    # Eight bits need no operator of com.microsoft; pairs that are asked for by that name need no other opset.
    assert domains(right) in (domains(left), {"", *domains(left)})
    if "contributed" not in name:
        assert right.opset_import[0].version == left.opset_import[0].version
    found = compared(proto, left, right)
    assert (found.op_types, found.parameters) == ("", [])
    assert found.is_as_near, found.decibels


@pytest.mark.parametrize("opset", [11, 13, 17])
@pytest.mark.parametrize("arguments", [U8S8, {**U8U8, **QOPERATOR}], ids=["QDQ", "QOperator"])
def test_opsets_below_those_of_wide_types(opset: int, arguments: Arguments) -> None:
    proto = network(opset)
    left, right = theirs(proto, **arguments), ours(proto, **arguments)
    found = compared(proto, left, right)
    assert found.parameters == []
    assert found.is_as_near, found.decibels


@pytest.mark.parametrize("name", ["Conv and Relu", "Gemm", "MatMul", "ConvTranspose"])
@pytest.mark.parametrize("arguments", [U8S8, S8S8], ids=["u8s8", "s8s8"])
def test_halves(name: str, arguments: Arguments) -> None:
    proto = source(name, 20, np.float16)
    left, right = theirs(proto, **arguments), ours(proto, **arguments)
    found = compared(proto, left, right)
    # The scale of an int32 bias, a product, may be too small for half precision.
    assert found.op_types in ("", *(f"{{}} -> {{'Cast': {count}}}" for count in (1, 2)))
    assert found.parameters == []
    assert found.is_as_near, found.decibels


@pytest.mark.parametrize("form", [QuantFormat.QDQ, QuantFormat.QOperator])
@pytest.mark.parametrize("name", ["Add", "Gemm", "MatMul", "Conv and Relu"])
def test_unsigned_weights_beside_signed_activations_are_no_error(name: str, form: QuantFormat) -> None:
    """onnxruntime's code refuses the two together; no kernel on codes takes them, the float operator does."""
    kinds = {"activation_type": QuantType.QInt8, "weight_type": QuantType.QUInt8}
    proto = source(name)
    with pytest.raises(ValueError, match="weight_type"):
        theirs(proto, quant_format=form, **kinds)
    assert decibels(proto, ours(proto, quant_format=form, **kinds), samples(proto)) > FAITHFUL


@pytest.mark.parametrize("name", ["Gemm", "MatMul", "MaxPool"])
def test_floats_of_eight_bits(name: str) -> None:
    kind = {"activation_type": QuantType.QFLOAT8E4M3FN, "weight_type": QuantType.QFLOAT8E4M3FN}
    proto = source(name, 19)
    right = ours(proto, calibrate_method=CalibrationMethod.Distribution, **kind)
    assert decibels(proto, right, samples(proto)) > 15.0
    stored = {tensor.data_type for tensor in right.graph.initializer if "quantized" in tensor.name}
    assert stored <= {TensorProto.FLOAT8E4M3FN, TensorProto.INT32}


# ---------------------------------------------------------------------- ranges


@pytest.mark.parametrize("method", ["Entropy", "Percentile", "Distribution"])
@pytest.mark.parametrize("arguments", [U8S8, S8S8], ids=["u8s8", "s8s8"])
def test_methods(method: str, arguments: Arguments) -> None:
    proto = source("MatMul")
    given = {**arguments, "calibrate_method": CalibrationMethod[method]}
    feeds = samples(proto, 16)
    right = ours(proto, feeds, **given)
    assert decibels(proto, right, feeds) >= decibels(proto, theirs(proto, feeds, **given), feeds) - 0.5


RANGES: dict[str, dict[str, Any]] = {
    "symmetric activations": {"ActivationSymmetric": True},
    "asymmetric weights": {"WeightSymmetric": False},
    "symmetric weights": {"WeightSymmetric": True},
    "least range": {"MinimumRealRange": 8.0},
    "weights as they are": {"QDQDisableWeightAdjustForInt32Bias": True},
}


@pytest.mark.parametrize("name", RANGES)
@pytest.mark.parametrize("arguments", [U8U8, S8S8, {**U8S8, "per_channel": True}], ids=["u8u8", "s8s8", "channels"])
def test_ranges(name: str, arguments: Arguments) -> None:
    options = {**arguments.get("extra_options", {}), **RANGES[name]}
    agree(network(), **{**arguments, "extra_options": options})


SIDES = {"positive": (0.0, 4.0), "negative": (-4.0, 0.0), "both": (-1.0, 3.0), "zero": (0.0, 0.0)}


@recent
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("reduce_range", [False, True])
def test_restricted_zero_points(side: str, reduce_range: bool) -> None:
    proto = source("Conv without a bias")
    ends = np.linspace(*SIDES[side], 256, dtype=np.float32).reshape(1, 4, 8, 8)
    options = {"ActivationRestrictedAsymmetric": True}
    given = {**U8S8, "reduce_range": reduce_range, "extra_options": options}
    right = ours(proto, [{"x": ends}], **given)
    left = theirs(proto, [{"x": ends}], **given)
    if side != "zero":  # zeros are exact at any scale: 1 there, 2^-7 here
        np.testing.assert_allclose(parameters(right)["x_scale"], parameters(left)["x_scale"], rtol=1e-6)
    assert parameters(right)["x_zero_point"] == parameters(left)["x_zero_point"]


@pytest.mark.parametrize("arguments", [{}, {"per_channel": True}, QOPERATOR], ids=["QDQ", "channels", "QOperator"])
def test_weights_so_small_that_biases_would_overflow(arguments: Arguments) -> None:
    proto = network(scale=1e-7)
    left, right = (each(proto, **U8S8, **arguments) for each in (theirs, ours))
    assert compared(proto, left, right).is_as_near
    codes = [value for value in constants_of(right).values() if value.dtype == np.int32 and value.ndim]
    assert codes
    assert all(np.abs(value.astype(np.int64)).max() < 2**31 - 1 for value in codes)


# ---------------------------------------------------------------------- overrides

OVERRIDES: dict[str, dict[str, list[dict[str, Any]]]] = {
    "scale and zero point": {"r": [{"scale": np.array(0.03, np.float32), "zero_point": np.array(0, np.uint8)}]},
    "a type": {"x": [U16]},
    "symmetric": {"x": [{"symmetric": True}]},
    "a reduced range": {"w": [{"reduce_range": True}]},
    "a range": {"r": [{"rmin": np.float32(0), "rmax": np.float32(9)}]},
    "channels": {"w": [{"axis": 0, "quant_type": QuantType.QInt8, "symmetric": True}]},
    "channels, each": {"w": [{"axis": 0, "rmin": -1.0 - at, "rmax": 1.0 + at} for at in range(4)]},
    "converted": {"f": [{"quant_type": QuantType.QUInt8, "convert": {**U16, "recv_nodes": {"Gemm_5"}}}]},
    "converted for all": {"f": [{"quant_type": QuantType.QUInt8, "convert": U16}], "g": [U16]},
}


@recent
@pytest.mark.parametrize("name", OVERRIDES)
def test_overrides(name: str) -> None:
    proto = network(21)
    given = {**U8S8, "extra_options": {"TensorQuantOverrides": OVERRIDES[name]}}
    left, right = theirs(proto, **given), ours(proto, **given)
    found = compared(proto, left, right)
    assert found.op_types == ""
    assert found.is_as_near, found.decibels


REFUSED: dict[str, dict[str, Any]] = {
    "a tensor that is none": {"nobody": [{"quant_type": QuantType.QInt8}]},
    "a scale without a zero point": {"x": [{"scale": 0.1}]},
    "a scale beside a range": {"x": [{"scale": 0.1, "zero_point": 0, "rmax": 1.0}]},
    "a scale beside symmetry": {"x": [{"scale": 0.1, "zero_point": 0, "symmetric": True}]},
    "channels of an activation": {"x": [{"quant_type": QuantType.QInt8}, {"quant_type": QuantType.QInt8}]},
}


@pytest.mark.parametrize("name", REFUSED)
def test_overrides_that_both_refuse(name: str) -> None:
    given = {"extra_options": {"TensorQuantOverrides": REFUSED[name]}}
    with pytest.raises(ValueError, match=r"."):
        theirs(network(), **given)
    with pytest.raises(QuantizationError, match=r"nobody|x"):
        ours(network(), **given)


# ---------------------------------------------------------------------- weights and inputs that come as codes


@recent
@pytest.mark.parametrize("is_input", [False, True])
def test_pairs_that_are_there(is_input: bool) -> None:
    body = "w = DequantizeLinear(c, s, z) y = Conv(x, w, b)"
    if is_input:
        body = "q = QuantizeLinear(x, s, z) h = DequantizeLinear(q, s, z) y = Conv(h, c, b)"
    codes = np.clip(weights(1, 4, 4, 3, 3) * 60, -127, 127).astype(np.int8)
    constants = {"c": weights(1, 4, 4, 3, 3) if is_input else codes, "s": np.float32(0.02), "z": np.int8(0)}
    proto = model(f"t (float[1, 4, 6, 6] x) => (float[1, 4, 4, 4] y) {{ {body} }}", {**constants, "b": weights(2, 4)})
    left, right = theirs(proto, **S8S8), ours(proto, **S8S8)
    assert compared(proto, left, right).is_as_near
    assert len(nodes(right, "DequantizeLinear")) <= len(nodes(left, "DequantizeLinear"))


@recent
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("form", [QuantFormat.QDQ, QuantFormat.QOperator])
def test_products_that_onnxruntimes_own_tool_packed(bits: int, form: QuantFormat) -> None:
    tools = pytest.importorskip("onnxruntime.quantization.matmul_nbits_quantizer")
    proto = model("t (float[4, 64] x) => (float[4, 8] y) { h = MatMul(x, m) y = MatMul(h, k) }",
                  {"m": weights(1, 64, 64, scale=0.2), "k": weights(2, 64, 8, scale=0.2)}, 21, 10)  # fmt: skip
    proto.graph.node[0].name, proto.graph.node[1].name = "packed", "plain"
    config = tools.DefaultWeightOnlyQuantConfig(block_size=32, is_symmetric=True, quant_format=form, bits=bits)
    tool = tools.MatMulNBitsQuantizer(proto, algo_config=config, nodes_to_exclude=["plain"])
    tool.process()
    packed = tool.model.model
    right = ours(packed, **S8S8)
    kind = "MatMulNBits" if form is QuantFormat.QOperator else "DequantizeLinear"
    assert any(node.op_type == kind for node in right.graph.node)
    assert decibels(packed, right, samples(packed)) > FAITHFUL
