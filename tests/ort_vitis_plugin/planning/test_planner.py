"""TensorQuantOverrides and the options that choose parameters: alone, and together with positions and rules."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper
from onnxruntime.quantization import QuantType

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.errors import OptionError
from ort_vitis_plugin.numerics.positions import position_of
from ort_vitis_plugin.testing import graph
from tests.ort_vitis_plugin.planning.networks import (
    METHODS,
    MIN_MAX,
    MIN_MSE,
    WEIGHTS,
    feeds,
    model,
    parameters,
    quantized,
)


def test_parameters_for_each_channel() -> None:
    channels = [{"axis": 0, "scale": np.float32(0.01 * (at + 1)), "zero_point": np.int8(0)} for at in range(4)]
    result = quantized({"w": channels}, per_channel=True).model
    scale, zero, _ = parameters(result, "w")
    assert scale == pytest.approx([0.01, 0.02, 0.03, 0.04])
    assert zero == [0, 0, 0, 0]
    stored = {each.name: numpy_helper.to_array(each) for each in result.graph.initializer}
    wanted = np.clip(np.rint(WEIGHTS / np.float32([0.01, 0.02, 0.03, 0.04])[:, None, None, None]), -128, 127)
    np.testing.assert_array_equal(stored["w_quantized"], wanted)


@METHODS
def test_some_readers_take_another_type(method: Any) -> None:
    to = {"quant_type": QuantType.QUInt16, "recv_nodes": {"conv2"}}
    result = quantized({"r": [{"quant_type": QuantType.QUInt8, "convert": to}]}, calibrate_method=method).model
    stored = {each.name: each for each in result.graph.initializer}
    producer = {name: node for node in result.graph.node for name in node.output}
    reads = {node.name: producer[node.input[0]] for node in result.graph.node if node.name in ("conv2", "sigmoid")}
    kinds = {name: stored[node.input[2]].data_type for name, node in reads.items()}
    assert kinds == {"conv2": TensorProto.UINT16, "sigmoid": TensorProto.UINT8}
    # The second pair stands behind the first.
    assert producer[producer[reads["conv2"].input[0]].input[0]].op_type == "DequantizeLinear"


def test_all_readers_take_another_type() -> None:
    to = {"quant_type": QuantType.QUInt16}
    result = quantized({"r": [{"quant_type": QuantType.QUInt8, "convert": to}]}).model
    stored = {each.name: each for each in result.graph.initializer}
    producer = {name: node for node in result.graph.node for name in node.output}
    reads = [producer[node.input[0]] for node in result.graph.node if node.name in ("conv2", "sigmoid")]
    assert {stored[node.input[2]].data_type for node in reads} == {TensorProto.UINT16}


def test_a_receiver_that_does_not_read_the_tensor() -> None:
    to = {"quant_type": QuantType.QUInt16, "recv_nodes": {"conv3"}}
    with pytest.raises(OptionError, match="conv3"):
        quantized({"r": [{"quant_type": QuantType.QUInt8, "convert": to}]})


def test_rules_move_around_what_is_fixed() -> None:
    """A weight's position that the shift of 16 bits allows only for other positions of the output."""
    fixed = {"scale": np.float32(2**-4), "zero_point": np.int8(0)}
    result = quantized({"w": [fixed]}, calibrate_method=MIN_MSE, enable_dpu=True, activation_type=QuantType.QInt8)
    assert parameters(result.model, "w")[0] == 2**-4
    assert not result.report.violations
    x, w = (position_of(parameters(result.model, name)[0]) for name in ("x", "w"))
    y = position_of(parameters(result.model, "r")[0])
    assert 0 <= w + x - y <= 16  # type: ignore[operator]


def test_what_is_fixed_against_a_rule_is_told() -> None:
    """wpos + ipos - opos = 30 + 0 - 0 is a shift that the DPU does not have."""
    overrides = {
        "x": [{"scale": np.float32(1), "zero_point": np.int8(0)}],
        "w": [{"scale": np.float32(2**-30), "zero_point": np.int8(0)}],
        "r": [{"scale": np.float32(1), "zero_point": np.int8(0)}],
    }
    result = quantize_static(
        model(),
        None,
        feeds(),
        activation_type=QuantType.QInt8,
        enable_dpu=True,
        extra_options={"TensorQuantOverrides": overrides, "SelfCheck": False},
    )
    assert parameters(result.model, "w")[0] == 2**-30
    assert any("conv" in text and "30" in text for text in result.report.violations)


def test_a_tensor_that_does_not_exist() -> None:
    with pytest.raises(OptionError, match="nothing"):
        quantized({"nothing": [{"symmetric": True}]})


@pytest.mark.parametrize(
    ("end", "zero"),
    [
        ("Relu(h)", 0),
        ("Clip(h, nothing, six)", 0),
        ("Clip(h, below, six)", 128),
        ("Clip(h, , six)", 128),
        ("Sigmoid(h)", 128),
    ],
)
def test_what_is_never_negative_starts_at_the_lowest_code(end: str, zero: int) -> None:
    """UseUnsignedReLU: a Clip that lets negative values through stays symmetric, as all other operators do."""
    body = f"h = Conv(x, w) r = {end} y = GlobalAveragePool(r)"
    limits = {"nothing": np.float32(0), "below": np.float32(-1), "six": np.float32(6)}
    constants = {"w": WEIGHTS} | {name: value for name, value in limits.items() if name in end}
    proto = graph(f"t (float[1,3,6,6] x) => (float[1,4,1,1] y) {{ {body} }}", 17, constants)
    options = {"ActivationSymmetric": True, "UseUnsignedReLU": True}
    result = quantize_static(
        proto, None, feeds(), activation_type=QuantType.QUInt8, calibrate_method=MIN_MAX, extra_options=options
    )
    assert parameters(result.model, "r")[1] == zero
    assert parameters(result.model, "x")[1] == 128


def test_a_format_of_scales_is_put_on_every_scale_but_those_that_follow() -> None:
    """Int16Scale: M / 2^N with 16 bits of M; the scale of a bias stays the product of the two that it follows."""

    def halves(scale: float) -> bool:
        return scale * 2.0**15 == round(scale * 2.0**15)

    plain, held = (quantized(extra_options={"Int16Scale": flag}).model for flag in (False, True))
    for name in ("x", "w", "r", "w2"):
        assert not halves(float(parameters(plain, name)[0]))
        assert halves(float(parameters(held, name)[0]))
        assert parameters(held, name)[0] == pytest.approx(parameters(plain, name)[0], abs=2.0**-16)
    bias = next(tensor for tensor in held.graph.initializer if tensor.name == "b_quantized_scale")
    product = np.float32(parameters(held, "x")[0]) * np.float32(parameters(held, "w")[0])
    assert numpy_helper.to_array(bias).item() == product
