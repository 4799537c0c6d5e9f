"""At the end of a detector boxes and scores keep scales of their own; elsewhere nothing changes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType

import ort_vitis_plugin as vitis
from ort_vitis_plugin.numerics.sqnr import sqnr_db
from ort_vitis_plugin.onnx_io.sessions import open_session
from ort_vitis_plugin.testing import graph

RNG = np.random.default_rng(5)
CONSTANTS: dict[str, Any] = {
    "w": np.float32(RNG.standard_normal((4, 3, 3, 3)) * 0.3),
    "v": np.float32(RNG.standard_normal((6, 3, 3, 3)) * 0.3),
    "b": np.float32(RNG.standard_normal(6) - 1),
    "u": np.float32(RNG.standard_normal((2, 10, 1, 1)) * 0.3),
    "pixels": np.array(320, np.float32),
    "little": np.array(3, np.float32),
    "flat": np.array([1, 10, -1]),
}
PARTS = "boxes = Conv(x, w) box = Mul(boxes, pixels) logit = Conv(x, v, b) score = Sigmoid(logit) "
TAILS = {
    "alone": "y = Concat<axis = 1>(box, score)",
    "moved": "c = Concat<axis = 1>(box, score) r = Reshape(c, flat) y = Transpose<perm = [0, 2, 1]>(r)",
    "joined again": "c = Concat<axis = 1>(box, score) r = Reshape(c, flat) y = Concat<axis = 2>(r, r)",
}
FORMATS: dict[str, dict[str, Any]] = {
    "QDQ": {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8},
    "per channel": {"per_channel": True},
    "power of two": {"calibrate_method": vitis.PowerOfTwoMethod.MinMSE},
    "QOperator": {"quant_format": QuantFormat.QOperator},
    "FixNeuron": {
        "quant_format": vitis.VitisQuantFormat.FixNeuron,
        "calibrate_method": vitis.PowerOfTwoMethod.MinMSE,
    },
    "NPU": {
        "enable_dpu": True,
        "activation_type": QuantType.QUInt8,
        "calibrate_method": vitis.PowerOfTwoMethod.MinMSE,
        "extra_options": {"ConvertSigmoidToHardSigmoid": False},
    },
}


def model(tail: str) -> ModelProto:
    used = {name: array for name, array in CONSTANTS.items() if f" {name}" in PARTS + tail or f"({name}" in tail}
    return graph(f"t (float[1, 3, 8, 8] x) => (float[] y) {{ {PARTS} {tail} }}", 17, used)


def quantized(source: ModelProto, **arguments: Any) -> vitis.Result:
    given = {"calibrate_method": CalibrationMethod.MinMax, **arguments}
    return vitis.quantize_static(source, None, samples(4), **given)


def samples(count: int) -> list[dict[str, Any]]:
    generator = np.random.default_rng(1)
    return [{"x": generator.uniform(-1, 1, (1, 3, 8, 8)).astype(np.float32)} for _ in range(count)]


def is_quantized(result: vitis.Result, output: str) -> bool:
    (producer,) = (node for node in result.model.graph.node if output in node.output)
    return producer.op_type in ("DequantizeLinear", "FixNeuron")


@pytest.mark.parametrize(
    "tail",
    [
        "y = Concat<axis = 1>(boxes, score)",
        "c = Concat<axis = 1>(box, score) y = Conv(c, u)",
        "b3 = Mul(logit, little) y = Concat<axis = 1>(boxes, b3)",
    ],
)
def test_near_parts_and_inner_joins_are_quantized(tail: str) -> None:
    result = quantized(model(tail))
    assert "FloatFarOutput" not in result.report.transforms
    assert is_quantized(result, "y")


@pytest.mark.parametrize(("times", "is_far"), [(24.0, False), (40.0, True)])
def test_three_bits_are_enough_for_a_part(times: float, is_far: bool) -> None:
    """Of 8: up to 32 times apart."""
    source = graph(
        "t (float[1, 4] x) => (float[1, 8] y) { large = Mul(x, times) y = Concat<axis = 1>(x, large) }",
        constants={"times": np.array(times, np.float32)},
    )
    feeds = [{"x": np.array([[-1, -0.5, 0.5, 1]], np.float32)}] * 4
    result = vitis.quantize_static(source, None, feeds, calibrate_method=CalibrationMethod.MinMax)
    assert ("FloatFarOutput" in result.report.transforms) is is_far


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("tail", TAILS)
def test_the_smaller_parts_are_not_erased(tail: str, form: str) -> None:
    source = model(TAILS[tail])
    result = quantized(source, **FORMATS[form])
    assert not is_quantized(result, "y")
    joins = [node.name for node in result.model.graph.node if node.op_type == "Concat"]
    assert joins
    assert all("no scale of 8 bits holds" in result.report.left_float[name] for name in joins)
    feed = samples(5)[-1]
    expected, found = (np.asarray(open_session(m).run(None, feed)[0]) for m in (source, result.model))
    parts = [(array[expected < 1], array[expected >= 1]) for array in (expected, found)]
    for wanted, got in zip(*parts, strict=True):
        assert sqnr_db(wanted, got) > 20


def test_the_switch_and_the_request_win() -> None:
    source = model(TAILS["alone"])
    assert is_quantized(quantized(source, extra_options={"FloatFarOutput": False}), "y")
    named = [node.name for node in quantized(source).model.graph.node if not node.name.endswith("Linear")]
    assert is_quantized(quantized(source, nodes_to_quantize=named), "y")


@pytest.mark.parametrize(("kind", "bits"), [(QuantType.QUInt8, 8), (QuantType.QUInt16, 16)])
@pytest.mark.parametrize("share", [0.9, 1.1])
def test_a_part_has_three_bits_or_a_scale_of_its_own(kind: Any, bits: int, share: float) -> None:
    most = share * 2 ** (bits - 3)
    text = "t (float[1, 4] x) => (float[] y) { a = Relu(x) b = Mul(a, k) y = Concat<axis = 1>(a, b) }"
    feeds = [{"x": np.full((1, 4), value, np.float32)} for value in (-1, 0.5, 1)]
    report = vitis.quantize_static(
        graph(text, 17, {"k": np.float32(most)}),
        None,
        feeds,
        calibrate_method=CalibrationMethod.MinMax,
        activation_type=kind,
        op_types_to_quantize=["Relu", "Mul", "Concat"],
        extra_options={"Target": "cpu", "SelfCheck": False},
    ).report
    assert any("no scale of" in reason for reason in report.left_float.values()) == (share > 1)
