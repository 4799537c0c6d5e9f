"""The whole call: every combination gives a valid model near the float one; hardware rules cost little."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import ort_vitis_plugin as vai_q_onnx
from ort_vitis_plugin import (
    CalibrationMethod,
    PowerOfTwoMethod,
    QuantFormat,
    QuantType,
    VitisQuantFormat,
    VitisQuantType,
)
from ort_vitis_plugin.custom_ops import find_library
from ort_vitis_plugin.numerics.sqnr import sqnr_db
from tests.models import networks
from tests.thinned import thinned

if TYPE_CHECKING:
    from numpy.typing import NDArray

NPU: dict[str, Any] = {
    "activation_type": QuantType.QUInt8,
    "enable_dpu": True,
    "extra_options": {"ActivationSymmetric": True},
}
EIGHT = (QuantType.QInt8, QuantType.QUInt8)
WIDE = [kind for kind in VitisQuantType if kind.is_built_in]
METHODS = (*PowerOfTwoMethod, CalibrationMethod.MinMax, CalibrationMethod.Entropy, CalibrationMethod.Percentile)
FORMATS = (QuantFormat.QDQ, VitisQuantFormat.QDQ, VitisQuantFormat.FixNeuron)
# Every method with every format on one network, one method of each kind on the others.
ALL = [("digits", quant_format, method) for quant_format in FORMATS for method in METHODS] + [
    ("depthwise_skewed", QuantFormat.QDQ, PowerOfTwoMethod.MinMSE),
    ("depthwise_skewed", VitisQuantFormat.FixNeuron, CalibrationMethod.MinMax),
    ("transformer", QuantFormat.QDQ, CalibrationMethod.MinMax),
    ("transformer", VitisQuantFormat.QDQ, PowerOfTwoMethod.MinMSE),
    ("transformer", VitisQuantFormat.FixNeuron, CalibrationMethod.Percentile),
    ("halves", QuantFormat.QDQ, PowerOfTwoMethod.MinMSE),
    ("halves", VitisQuantFormat.FixNeuron, PowerOfTwoMethod.NonOverflow),
]
# Quick: every method in one format, every format with one method, every network.
SLOW = {each for each in ALL if each[1] is not QuantFormat.QDQ} - {
    ("digits", VitisQuantFormat.QDQ, PowerOfTwoMethod.MinMSE),
    ("digits", VitisQuantFormat.FixNeuron, CalibrationMethod.MinMax),
    ("halves", VitisQuantFormat.FixNeuron, PowerOfTwoMethod.NonOverflow),
}
COMBINATIONS = [pytest.param(*each, marks=pytest.mark.slow if each in SLOW else ()) for each in ALL]


class Reader:
    """Samples once."""

    def __init__(self, feeds: list[dict[str, Any]]) -> None:
        self._rest = iter(feeds)

    def get_next(self) -> dict[str, Any] | None:
        return next(self._rest, None)


def sessions(model: ModelProto) -> list[ort.InferenceSession]:
    """The model at both optimization levels, with and without our library."""
    found = []
    for level, with_library in itertools.product((0, 99), (False, True)):
        if with_library and find_library() is None:
            continue
        options = ort.SessionOptions()
        options.log_severity_level = 3
        options.graph_optimization_level = ort.GraphOptimizationLevel(level)
        if with_library:
            vai_q_onnx.register(options)
        found.append(ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]))
    return found


@pytest.mark.parametrize(("name", "quant_format", "method"), COMBINATIONS)
def test_every_method_writes_a_valid_model(name: str, quant_format: Any, method: Any) -> None:
    digits = networks.digits(name, 8, 12)
    reference = networks.session(networks.network(name))
    wanted = np.concatenate([reference.run(None, feed)[0] for feed in digits.evaluation])
    result = vai_q_onnx.quantize_static(
        networks.network(name),
        None,
        Reader(digits.calibration),
        quant_format=quant_format,
        calibrate_method=method,
        include_cle=name == "depthwise_skewed",  # one scale for channels that differ 100 times needs it
        extra_options={"SelfCheck": False},
    )
    onnx.checker.check_model(result.model, full_check=True)
    found = [
        np.concatenate([session.run(None, feed)[0] for feed in digits.evaluation]) for session in sessions(result.model)
    ]
    # The first runs as written; others may use integer kernels, which saturate on CPUs without VNNI.
    assert sqnr_db(wanted, found[0]) > 18
    assert np.mean(found[0].argmax(1) == digits.labels) >= 11 / 12
    for other in found[1:]:
        assert np.mean(other.argmax(1) == digits.labels) >= 10 / 12


def test_default_call_is_good() -> None:
    """The documented default: int8 MinMSE QDQ without a target (the original gave noise)."""
    digits = networks.digits("digits", 64, 100)
    result = vai_q_onnx.quantize_static(networks.network("digits"), None, Reader(digits.calibration))
    session = networks.session(result.model.SerializeToString())
    reference = networks.session(networks.network("digits"))
    f, q = (np.concatenate([s.run(None, feed)[0] for feed in digits.evaluation]) for s in (reference, session))
    assert sqnr_db(f, q) > 20


def image_model(nodes: list[Any], arrays: dict[str, NDArray[Any]], x: list[int]) -> ModelProto:
    """x -> y through these nodes."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def relative_error(model: ModelProto, feeds: list[dict[str, Any]]) -> float:
    """||q - f|| / ||f|| of the recommended NPU configuration."""
    result = vai_q_onnx.quantize_static(model, None, Reader(feeds), **NPU)
    assert result.report.violations == []
    f, q = (
        np.concatenate([session.run(None, feed)[0].ravel() for feed in feeds])
        for session in (networks.session(model.SerializeToString()), sessions(result.model)[0])
    )
    return float(np.linalg.norm(q - f) / np.linalg.norm(f))


def test_a_large_bias_beside_tiny_weights_costs_little() -> None:
    """The peers change the bias's scale but not its codes: half of the output is lost."""
    random = np.random.default_rng(0)
    bias = random.uniform(-20, 20, 8)
    bias[:2] = 20, -20
    model = image_model(
        [helper.make_node("Conv", ["x", "w", "b"], ["y"], name="conv", pads=[1] * 4)],
        {"w": random.uniform(-0.012, 0.012, (8, 3, 3, 3)), "b": bias},
        [1, 3, 16, 16],
    )
    feeds = [{"x": random.standard_normal((1, 3, 16, 16)).astype(np.float32)} for _ in range(4)]
    assert relative_error(model, feeds) <= 0.02


def test_a_long_sum_of_one_sign_costs_little() -> None:
    """The accumulator of a 25,088-input Gemm forces a coarse shift."""
    random = np.random.default_rng(1)
    model = image_model(
        [helper.make_node("Gemm", ["x", "w", "b"], ["y"], name="gemm")],
        {"w": np.abs(random.standard_normal((25088, 16))) * 0.01, "b": random.standard_normal(16)},
        [1, 25088],
    )
    feeds = [{"x": random.uniform(0, 1, (1, 25088)).astype(np.float32)} for _ in range(4)]
    assert relative_error(model, feeds) <= 0.02


@pytest.mark.parametrize(("activation", "weight"), thinned(4, [*EIGHT, *WIDE], [QuantType.QInt8, *WIDE]))
def test_any_activation_type_goes_with_any_weight_type(activation: Any, weight: Any) -> None:
    random = np.random.default_rng(2)
    model = image_model(
        [
            helper.make_node("Conv", ["x", "w", "b"], ["c"], name="conv", pads=[1] * 4),
            helper.make_node("Relu", ["c"], ["r"], name="relu"),
            helper.make_node("GlobalAveragePool", ["r"], ["y"], name="pool"),
        ],
        {"w": random.standard_normal((4, 3, 3, 3)), "b": random.standard_normal(4)},
        [1, 3, 8, 8],
    )
    feeds = [{"x": random.standard_normal((1, 3, 8, 8)).astype(np.float32)} for _ in range(4)]
    result = vai_q_onnx.quantize_static(
        model,
        None,
        Reader(feeds),
        quant_format=VitisQuantFormat.QDQ,
        activation_type=activation,
        weight_type=weight,
    )
    onnx.checker.check_model(result.model, full_check=True)
    floor = 25 if activation in EIGHT or weight in EIGHT else 40
    assert result.report.sqnr["y"] > floor
    outputs = [session.run(None, feeds[0])[0] for session in sessions(result.model)]
    assert all(np.array_equal(outputs[0], other) for other in outputs[1:2])
    np.testing.assert_allclose(outputs[0], outputs[-1], rtol=1e-3, atol=1e-2 if floor == 25 else 1e-3)


def test_stages_are_seen_and_timed() -> None:
    digits = networks.digits("digits", 2, 1)
    result = vai_q_onnx.quantize_static(networks.network("digits"), None, Reader(digits.calibration), **NPU)
    assert result.report.sqnr["logits"] > 18
    wanted = ["load", "normalize", "prepare", "calibrate", "simulate", "decide", "make_plan", "adjust", "emit"]
    wanted += ["finish", "check"]
    assert list(result.report.seconds) == wanted
    assert result.report.configuration == {
        "target": "ipu_cnn",
        "format": "QDQ",
        "method": "MinMSE",
        "activation_type": "QUInt8",
        "weight_type": "QInt8",
    }


def test_sixteen_bits_are_settled_in_a_second_pass() -> None:
    """With a reader that can be read again, the position of each activation has the least error of the values."""
    digits = networks.digits("digits", 4, 1)
    path = networks.network("digits")
    given = {"quant_format": VitisQuantFormat.QDQ, "activation_type": VitisQuantType.QInt16}
    result = vai_q_onnx.quantize_static(
        path, None, networks.reader("digits", 4), extra_options={"ActivationSymmetric": True}, **given
    )
    assert result.report.sqnr["logits"] > 22  # its weights have eight bits
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in result.model.graph.initializer}
    image = np.concatenate([feed["image"].ravel() for feed in digits.calibration]).astype(np.float64)

    def error(step: float) -> float:
        return float(((image - np.clip(np.rint(image / step), -32768, 32767) * step) ** 2).sum())

    chosen = float(arrays["image_scale"])
    assert all(error(chosen) <= error(chosen * 2.0**shift) for shift in range(-6, 7))
