"""A twin gives the bits of its model, whatever was quantized how; what cannot be exact stays, and is named."""

# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType

import ort_vitis_plugin
from ort_vitis_plugin import PowerOfTwoMethod, VitisQuantFormat, VitisQuantType
from ort_vitis_plugin.convert import rename_ops
from ort_vitis_plugin.errors import UnsupportedError
from ort_vitis_plugin.testing import REFUSALS, opsets, random_feeds
from tests.kinds.test_random_graphs import Builder
from tests.models import networks
from tests.ort_vitis_plugin.convert.small_networks import (
    UNOPTIMIZED,
    check_twin,
    codes_of,
    kernels,
    network,
    on_grid,
    pair,
    session,
    vitis_pair,
)

POW2 = PowerOfTwoMethod.NonOverflow
WIDE = {"calibrate_method": CalibrationMethod.MinMax, "quant_format": VitisQuantFormat.QDQ}
NPU: dict[str, dict[str, Any]] = {
    "qdq": {"quant_format": QuantFormat.QDQ, "calibrate_method": POW2, "enable_dpu": True},
    "dedicated": {
        "quant_format": QuantFormat.QDQ,
        "calibrate_method": POW2,
        "enable_dpu": True,
        "extra_options": {"DedicatedQDQPair": True},
    },
    "float bias": {"quant_format": QuantFormat.QDQ, "calibrate_method": POW2, "extra_options": {"QuantizeBias": False}},
    "vitis": {"quant_format": VitisQuantFormat.QDQ, "calibrate_method": POW2, "enable_dpu": True},
    "fix": {
        "quant_format": VitisQuantFormat.FixNeuron,
        "calibrate_method": POW2,
        "activation_type": QuantType.QInt8,
        "enable_dpu": True,
    },
    "int16": {
        "quant_format": VitisQuantFormat.QDQ,
        "calibrate_method": POW2,
        "activation_type": VitisQuantType.QInt16,
        "weight_type": VitisQuantType.QInt16,
    },
    "float scales": {"quant_format": VitisQuantFormat.QDQ, "calibrate_method": CalibrationMethod.MinMax},
    "bfloat16": {**WIDE, "activation_type": VitisQuantType.QBFloat16, "weight_type": VitisQuantType.QBFloat16},
}

FORMATS = ("qdq", "vitis", "fix", "int16", "bfloat16")
QUICK = {(3, "qdq"), (4, "vitis"), (5, "fix")}
RANDOM = [
    pytest.param(seed, how, marks=[] if (seed, how) in QUICK else pytest.mark.slow)
    for seed in range(40)
    for how in FORMATS
]
LARGE = ("depthwise_skewed", "transformer")
NETWORKS = [
    *(pytest.param("digits", how) for how in NPU),
    *(pytest.param("halves", how, marks=[] if how == "qdq" else pytest.mark.slow) for how in FORMATS),
    *(pytest.param(name, how, marks=pytest.mark.slow) for name in LARGE for how in FORMATS),
]


def quantized(name: str, how: str) -> ModelProto:
    settings = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8, **NPU[how]}
    return ort_vitis_plugin.quantize_static(
        str(networks.network(name)), None, networks.reader(name, 8), **settings
    ).model


@pytest.mark.parametrize(("name", "how"), NETWORKS)
def test_networks(name: str, how: str) -> None:
    twin = check_twin(quantized(name, how), networks.digits(name, 1, 20).evaluation, steady=how != "float scales")
    assert twin.rewritten


@pytest.mark.parametrize(("seed", "how"), RANDOM)
def test_random_graphs(seed: int, how: str) -> None:
    model = Builder(seed).build(int(np.random.default_rng(seed).integers(5, 41)))
    feeds = [random_feeds(model, sample) for sample in range(4)]
    settings = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8, **NPU[how]}
    options = {"extra_options": {"SelfCheck": False}}
    try:
        found = ort_vitis_plugin.quantize_static(model, None, networks.FeedReader(feeds), **settings, **options).model
        session(found, UNOPTIMIZED)
    except (UnsupportedError, *REFUSALS) as error:
        pytest.skip(f"there is no such model, or no runtime for it: {error}")
    check_twin(found, feeds)


def test_digits_have_nothing_left_in_float() -> None:
    twin = check_twin(quantized("digits", "qdq"), networks.digits("digits", 1, 1).evaluation)
    assert not twin.kept
    computed = kernels(twin)
    assert (computed["QLinearConv"], computed["QGemm"], computed["Conv"]) == (8, 1, 0)


def test_the_spelling_of_quark_is_the_same_model() -> None:
    model = quantized("digits", "vitis")
    renamed = check_twin(rename_ops(model, "com.amd.quark"), networks.digits("digits", 1, 3).evaluation)
    assert renamed.rewritten == check_twin(model, networks.digits("digits", 1, 3).evaluation).rewritten


def test_nodes_in_no_order() -> None:
    model = quantized("digits", "qdq")
    shuffled = ModelProto()
    shuffled.CopyFrom(model)
    del shuffled.graph.node[:]
    shuffled.graph.node.extend(
        model.graph.node[number] for number in np.random.default_rng(0).permutation(len(model.graph.node))
    )
    assert not check_twin(shuffled, networks.digits("digits", 1, 3).evaluation).kept


def test_a_twin_is_its_own_twin() -> None:
    twin = ort_vitis_plugin.evaluation_twin(quantized("halves", "qdq"))
    again = check_twin(twin.model, networks.digits("halves", 1, 3).evaluation)
    assert not again.rewritten


def conv(x: str = "x", bias_position: int = 9, end: str = "y", clamp: str = "Relu") -> str:
    return f"""
        {pair(x, "xd", "p4")}
        wd = DequantizeLinear(w, p7, i0)
        bd = DequantizeLinear(b, p{bias_position}, i0)
        t = Conv<pads = [1, 1, 1, 1]>(xd, wd, bd)
        r = {clamp}(t)
        {pair("r", end, "p2")}"""


CONV = {"w": codes_of((4, 3, 3, 3)), "b": codes_of((4,), 1)}
FEEDS = [{"x": on_grid((1, 3, 6, 6), 4, seed)} for seed in range(4)]
IMAGE = "float[1, 3, 6, 6] x => float[1, 4, 6, 6] y"


@pytest.mark.parametrize("opset", [10, 11, 12, 13, 15, 17, 18, 21])
def test_every_opset(opset: int) -> None:
    twin = check_twin(network(IMAGE, conv(), opset, **CONV), FEEDS)
    assert kernels(twin)["QLinearConv"] == 1
    assert not twin.kept


def test_opsets_for_which_there_are_only_kernels_of_vitis() -> None:
    body = f"""{vitis_pair("x", "xd", "p4", "u128")}
        {vitis_pair("w", "wd", "p7", "i0")}
        h = HardSigmoid<alpha = 0.16666667>(xd)
        t = Conv(xd, wd)
        r = Relu(t)
        {vitis_pair("r", "y", "p2", "u128")}
        {vitis_pair("h", "z", "p7", "u128")}"""
    shapes = "float[1, 3, 6, 6] x => float[1, 4, 4, 4] y, float[1, 3, 6, 6] z"
    weight = (codes_of((4, 3, 3, 3)) / 128).astype(np.float32)
    model = network(shapes, body, opsets()[-1], "com.vai.quantize", w=weight)
    assert kernels(check_twin(model, FEEDS))["QLinearConv"] == 1


def test_tensors_that_branch_and_leave() -> None:
    body = f"""{conv(end="z")}
        {pair("r", "other", "p3")}
        n = Neg(z)
        y = Add(n, other)
        u = Identity(z)"""
    model = network(
        "float[1, 3, 6, 6] x => float[1, 4, 6, 6] y, float[1, 4, 6, 6] z, float[1, 4, 6, 6] r", body, **CONV
    )
    twin = check_twin(model, FEEDS)
    assert [skip.reason for skip in twin.kept if skip.op_type == "Relu"]


def test_equal_pairs_of_one_tensor() -> None:
    body = f"{conv(end='z')}\n{pair('r', 'other', 'p2')}\nn = Neg(z)\ny = Mul(n, other)"
    twin = check_twin(network(IMAGE, body, **CONV), FEEDS)
    assert twin.rewritten["merged quantizers"] == 1
    assert kernels(twin)["QLinearConv"] == 1


def test_weights_and_biases_that_two_nodes_share() -> None:
    body = f"""{conv(end="one")}
        {pair("x", "xe", "p5")}
        s = Conv<pads = [1, 1, 1, 1]>(xe, wd, bd)
        {pair("s", "two", "p1")}
        t2 = Add(one, two)
        {pair("t2", "y", "p2")}"""
    twin = check_twin(network(IMAGE, body, **CONV), FEEDS)
    assert kernels(twin)["QLinearConv"] == 2
    codes = [
        tensor
        for tensor in twin.model.graph.initializer
        if tensor.data_type == TensorProto.INT32 and tensor.dims == [4]
    ]
    assert len(codes) == 2, "each step of the products has a bias of its own"


def test_bodies_stay_as_they_are() -> None:
    body = f"""
        {vitis_pair("x", "xd", "p4", "u128")}
        y = If(c) <
            then_branch = left () => (float[2] l) {{ {vitis_pair("xd", "l", "p3", "u128")} }},
            else_branch = right () => (float[2] k) {{ k = Neg(xd) }}>"""
    model = network("float[2] x, bool c => float[2] y", body, domain="com.vai.quantize")
    twin = check_twin(model, [{"x": np.float32([0.3, -0.7]), "c": np.array(value)} for value in (True, False)])
    assert [skip.reason for skip in twin.kept if "body" in skip.reason]


def test_what_stays_is_named() -> None:
    body = f"""
        {vitis_pair("x", "xd", "s", "u128")}
        y = Neg(xd)"""
    twin = check_twin(
        network("float[2] x => float[2] y", body, domain="com.vai.quantize", s=0.3), [{"x": np.float32([1, -2])}]
    )
    assert {(skip.op_type, "power of two" in skip.reason) for skip in twin.kept} == {
        ("VitisQuantizeLinear", True),
        ("VitisDequantizeLinear", True),
    }


def test_a_model_without_codes_stays() -> None:
    model = network("float[2] x => float[2] y", "y = Neg(x)")
    twin = check_twin(model, [{"x": np.float32([1, -2])}])
    assert not twin.rewritten
    assert not twin.kept
    assert [node.op_type for node in twin.model.graph.node] == ["Neg"]


def test_converter(tmp_path: Any) -> None:
    from ort_vitis_plugin.cli.main import main

    source, target = tmp_path / "npu.onnx", tmp_path / "cpu.onnx"
    model = network(IMAGE, conv(bias_position=12), **CONV)
    onnx.save(model, source)
    assert main(["convert-npu-to-cpu", str(source), "-o", str(target)]) == 0
    written = onnx.load(target)
    assert written.SerializeToString(deterministic=True) == ort_vitis_plugin.evaluation_twin(
        model
    ).model.SerializeToString(deterministic=True)
