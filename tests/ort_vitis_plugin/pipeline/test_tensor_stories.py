"""Every tensor says where its parameters came from, what moved it, and what it costs, as numpy computes it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, numpy_helper
from onnxruntime.quantization import CalibrationMethod, QuantType

import ort_vitis_plugin
from ort_vitis_plugin import PowerOfTwoMethod, VitisQuantFormat, VitisQuantType
from ort_vitis_plugin.report.tensor_story import TensorStory
from ort_vitis_plugin.testing import graph
from tests.models.serialized import without_provenance
from tests.plugins.ort_vitis_finetune.test_bias_correction import convolution, samples

WEIGHTS = np.random.default_rng(0).uniform(-0.5, 0.5, (4, 3, 3, 3)).astype(np.float32)
BIAS = np.array([0.5, -0.25, 1.0, -1.0], np.float32)
LAST = np.random.default_rng(1).uniform(-3, 3, (2, 4, 1, 1)).astype(np.float32)
SAMPLES = [{"x": np.random.default_rng(seed).uniform(-1, 2, (1, 3, 6, 6)).astype(np.float32)} for seed in range(3)]
EXPLAINED = {"ExplainTensors": True}
CPU: dict[str, Any] = {"calibrate_method": CalibrationMethod.MinMax}


def model() -> ModelProto:
    """Conv, Relu, a pool that shares, a Softmax, and a Conv that is left float."""
    text = """t (float[1,3,6,6] x) => (float[1,4,1,4] y, float[1,2,4,4] z) {
      [conv] h = Conv(x, w, b) [relu] r = Relu(h) [pool] p = MaxPool<kernel_shape = [4, 1]>(r)
      [softmax] s = Softmax(p) [sigmoid] y = Sigmoid(s) [last] z = Conv(r, v) }"""
    return graph(text, 17, {"w": WEIGHTS, "b": BIAS, "v": LAST})


def stories(options: dict[str, Any] | None = None, **arguments: Any) -> dict[str, TensorStory]:
    given = {**EXPLAINED, **(options or {})}
    return ort_vitis_plugin.quantize_static(
        model(), None, list(SAMPLES), extra_options=given, **arguments
    ).report.tensors


def ratio(values: np.ndarray, rounded: np.ndarray) -> float:
    f = values.astype(np.float64)
    return float(((f - rounded) ** 2).sum() / (f**2).sum())


# --- what must not change --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [{}, CPU], ids=["as it comes", "MinMax"])
def test_the_model_is_the_same_whether_errors_are_computed_or_not(arguments: dict[str, Any]) -> None:
    plain, asked = (
        ort_vitis_plugin.quantize_static(model(), None, list(SAMPLES), extra_options=options, **arguments)
        for options in ({}, EXPLAINED)
    )
    assert without_provenance(plain.model) == without_provenance(asked.model)
    assert plain.report.tensors.keys() == asked.report.tensors.keys()


def test_nobody_who_does_not_ask_pays_for_errors_that_no_search_computed() -> None:
    found = ort_vitis_plugin.quantize_static(model(), None, list(SAMPLES), **CPU).report.tensors
    assert {story.error for story in found.values()} == {None}
    assert {story.origin for story in found.values() if story.role == "weight"} == {"method CalibrationMethod.MinMax"}


def test_the_stories_are_what_was_written() -> None:
    """Scale and zero point of every story stand in the file."""
    result = ort_vitis_plugin.quantize_static(model(), None, list(SAMPLES), per_channel=True, **CPU)
    stored = {each.name: numpy_helper.to_array(each) for each in result.model.graph.initializer}
    for name, story in result.report.tensors.items():
        if story.type and story.role != "bias" and f"{name}_scale" in stored:
            np.testing.assert_array_equal(np.float32(story.scale), stored[f"{name}_scale"].ravel())
            np.testing.assert_array_equal(story.zero_point, stored[f"{name}_zero_point"].ravel())


# --- what must -------------------------------------------------------------------------------------------------------


def test_a_method_is_named() -> None:
    found = stories(calibrate_method=PowerOfTwoMethod.NonOverflow)
    assert found["x"].origin == "method NonOverflow"
    assert found["x"].position == 6
    assert found["x"].scale == (2.0**-6,)


def test_an_override_is_named() -> None:
    stated = {"x": [{"scale": np.float32(0.5), "zero_point": np.int8(0)}], "v": [{"rmin": -4.0, "rmax": 4.0}]}
    found = stories({"TensorQuantOverrides": stated}, **CPU)
    assert (found["x"].origin, found["x"].scale) == ("TensorQuantOverrides: scale, zero_point", (0.5,))
    assert found["v"].origin == "TensorQuantOverrides: rmin, rmax"
    assert found["z"].origin == "method CalibrationMethod.MinMax"


def test_what_shares_names_its_leader() -> None:
    found = stories()
    assert found["p"].shares == "r"
    assert found["p"].scale == found["r"].scale
    assert found["r"].shares == ""


def test_a_softmax_has_its_own_range() -> None:
    assert stories()["s"].origin == "the range of Softmax, [0, 1]"


def test_what_saturates_takes_the_range_behind_it() -> None:
    found = stories({"ActivationSymmetric": True}, **CPU)
    assert found["h"].origin == "method CalibrationMethod.MinMax, over the values of r, whose range it takes"


def test_a_bias_has_the_scale_of_the_product() -> None:
    found = stories(per_channel=True, **CPU)["b"]
    assert found.origin == "the scale of x * that of w, as conv adds it"
    assert (found.type, len(found.scale)) == ("QInt32", 4)
    scale = np.array(found.scale)
    assert found.error == pytest.approx(ratio(BIAS, np.rint(BIAS / scale) * scale), rel=1e-6)


def test_a_bias_has_the_scale_in_which_its_node_reads_the_data() -> None:
    wide = {"quant_type": QuantType.QUInt16, "convert": {"quant_type": QuantType.QUInt8, "recv_nodes": {"conv"}}}
    options = {**EXPLAINED, "TensorQuantOverrides": {"x": [wide]}}
    result = ort_vitis_plugin.quantize_static(model(), None, list(SAMPLES), extra_options=options, **CPU)
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in result.model.graph.initializer}
    (written,) = (node for node in result.model.graph.node if node.input[:1] == ["b_quantized"])
    assert result.report.tensors["b"].scale == pytest.approx(constants[written.input[1]].ravel(), rel=1e-6)


def test_a_fused_tensor_says_what_fused_it() -> None:
    found = stories({"Preset": "ipu_cnn"})["h"]
    assert found.type == ""
    assert found.dropped == "RemoveQDQConvRelu: conv and relu are one operation of the device"
    asymmetric = stories(activation_type=QuantType.QUInt8, **CPU)["h"]
    assert asymmetric.dropped == "Relu relu is what the codes of its output do by saturating"


def test_a_rule_that_moves_is_named() -> None:
    from ort_vitis_plugin.demo import data

    result = ort_vitis_plugin.quantize_static(data.model_path(), None, None, extra_options={"Preset": "ipu_cnn"})
    assert result.report.moves
    for move in result.report.moves:
        story = result.report.tensors[move.tensor]
        assert (story.moved_from, story.position, story.moved_by) == (move.before, move.after, move.rules)


def test_a_correction_is_named() -> None:
    coarse = convolution(1)
    options = {"Target": "cpu", "BiasCorrection": True, "OpTypesToExcludeOutputQuantization": ["Conv"]}
    result = ort_vitis_plugin.quantize_static(coarse, None, samples(coarse), extra_options=options, **CPU)
    found = result.report.tensors
    assert found["b"].changes == ("BiasCorrection changed the constant",)
    assert found["w"].changes == ()


def test_a_scale_format_is_named() -> None:
    found = stories({"Int16Scale": True}, **CPU)["x"]
    assert found.changes == ("the scale was put into the format Int16Scale",)


def test_what_stays_float_says_why() -> None:
    mask = graph(
        "t (float[1,4] x, float[1,4] m) => (float[1,4] y) { [a] s = Add(x, m) [b] y = Softmax(s) }",
    )
    feeds = [{"x": np.ones((1, 4), np.float32), "m": np.array([[0, -1e4, 0, -1e4]], np.float32)}]
    found = ort_vitis_plugin.quantize_static(mask, None, feeds, op_types_to_quantize=["Add", "Softmax"]).report.tensors
    assert found["m"].dropped == "an attention mask"
    assert found["m"].type == ""


@pytest.mark.parametrize("kind", [QuantType.QInt8, QuantType.QUInt8, VitisQuantType.QBFloat16], ids=str)
@pytest.mark.parametrize("method", [CalibrationMethod.MinMax, PowerOfTwoMethod.MinMSE], ids=str)
def test_errors_are_those_of_numpy(kind: Any, method: Any) -> None:
    found = stories(activation_type=kind, weight_type=kind, calibrate_method=method, quant_format=VitisQuantFormat.QDQ)
    values = {"x": np.concatenate([feed["x"] for feed in SAMPLES]), "v": LAST}
    for name, array in values.items():
        story = found[name]
        if kind is VitisQuantType.QBFloat16:
            import ml_dtypes

            expected = ratio(array, array.astype(ml_dtypes.bfloat16).astype(np.float32))
            # Of activations the sketch knows bins of 256 values to an octave, as bfloat16 has: within a factor of two.
            assert story.error is not None
            assert expected / 2 < story.error < 2 * expected
            if name != "x":
                assert story.error == pytest.approx(expected, rel=1e-5)
        else:
            low, high = (-128, 127) if "UInt" not in str(kind) else (0, 255)
            scale, zero = story.scale[0], story.zero_point[0]
            codes = np.clip(np.rint(array.astype(np.float64) / scale) + zero, low, high)
            assert story.error == pytest.approx(ratio(array, (codes - zero) * scale), rel=2e-2)


def test_bodies_are_told_too() -> None:
    text = """t (float[1,4] x, bool c) => (float[1,4] y) {
      y = If(c) <then_branch = g () => (float[1,4] a) { [add] a = Add(x, x) },
                 else_branch = k () => (float[1,4] d) { [mul] d = Mul(x, x) }> }"""
    feeds = [{"x": np.ones((1, 4), np.float32), "c": np.array(value)} for value in (True, False)]
    report = ort_vitis_plugin.quantize_static(
        graph(text), None, feeds, extra_options={"EnableSubgraph": True}, op_types_to_quantize=["Add", "Mul"]
    ).report
    assert report.tensors["a"].type == report.tensors["d"].type == "QInt8"


def test_the_report_is_json_with_stories() -> None:
    report = ort_vitis_plugin.quantize_static(model(), None, list(SAMPLES), extra_options=EXPLAINED).report
    told = json.loads(report.to_json())["tensors"]
    assert told.keys() == report.tensors.keys()
    assert told["x"]["decibels"] == pytest.approx(-10 * np.log10(report.tensors["x"].error))
