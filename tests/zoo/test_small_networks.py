"""What the zoo measures, on the networks that CI can afford: scores in every recommended configuration, CLE, types."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from onnxruntime.quantization import QuantType

from ort_vitis_plugin import PowerOfTwoMethod, VitisQuantFormat, VitisQuantType, custom_ops, quantize_static
from ort_vitis_plugin.onnx_io.sessions import open_session
from tests.models import networks
from tests.zoo import configurations

if TYPE_CHECKING:
    from ort_vitis_plugin.report.report import Result

POINT = 0.01
FOUR_BITS = 0.08
EVALUATED = 500


@cache
def quantized(name: str, configuration: str) -> Result:
    return quantize_static(
        networks.network(name), None, networks.reader(name), **configurations.CONFIGURATIONS[configuration]
    )


@cache
def plain(name: str, configuration: str) -> Result:
    """Without the corrections of the recipe, which make good more of what rounding lost in one than in the other."""
    asked = configurations.CONFIGURATIONS[configuration]
    options = {**asked["extra_options"], "Recipe": "plain"}
    return quantize_static(networks.network(name), None, networks.reader(name), **{**asked, "extra_options": options})


@cache
def float_logits(name: str) -> Any:
    return networks.logits(networks.session(networks.network(name)), networks.digits(name).evaluation)


@cache
def float_accuracy(name: str) -> float:
    return networks.accuracy(networks.session(networks.network(name)), name)


def accuracy(result: Result, name: str) -> float:
    return networks.accuracy(open_session(result.model, [custom_ops.register]), name)


def sqnr(result: Result, name: str) -> float:
    found = networks.logits(open_session(result.model, [custom_ops.register]), networks.digits(name).evaluation)
    return networks.sqnr(float_logits(name), found)


# One scale per tensor cannot serve channels that differ by 100 times: there equalization is due.
# Quick: one configuration of each kind on one network, the recommended ones on all.
RECOMMENDED = ("NPU, CLE", "CPU")
QUICK = ("NPU", "NPU transformer", "CPU per channel", "BFP16")
SCORES = [
    pytest.param(
        *(name, configuration),
        marks=[] if configuration in RECOMMENDED or (name == "digits" and configuration in QUICK) else pytest.mark.slow,
    )
    for name in networks.NAMES
    for configuration in configurations.CONFIGURATIONS
    if not (name == "depthwise_skewed" and "CLE" not in configuration)
]


@pytest.mark.parametrize(("name", "configuration"), SCORES)
def test_keeps_its_score(name: str, configuration: str) -> None:
    result = quantized(name, configuration)
    assert result.report.sqnr
    assert not result.report.violations
    allowed = FOUR_BITS if configuration == "MXFP4" else POINT
    assert accuracy(result, name) >= float_accuracy(name) - allowed - 1e-9


def test_equalization_saves_channels_that_differ_by_100_times() -> None:
    name = "depthwise_skewed"
    assert accuracy(quantized(name, "NPU"), name) < float_accuracy(name) - 2 * POINT
    assert accuracy(quantized(name, "NPU, CLE"), name) >= float_accuracy(name) - 2 * POINT - 1e-9


EQUALIZED = [
    pytest.param(name, marks=() if name in ("digits", "depthwise_skewed") else pytest.mark.slow)
    for name in networks.NAMES
]


@pytest.mark.parametrize("name", EQUALIZED)
def test_equalization_costs_at_most_half_a_decibel(name: str) -> None:
    lost = sqnr(plain(name, "NPU"), name) - sqnr(plain(name, "NPU, CLE"), name)
    assert lost <= 0.5


# ---------------------------------------------------------------------- types

TYPED = ["digits", pytest.param("transformer", marks=pytest.mark.slow)]
KINDS = {
    "A8W8": (QuantType.QInt8, QuantType.QInt8),
    "A16W8": (VitisQuantType.QInt16, QuantType.QInt8),
    "A16W16": (VitisQuantType.QInt16, VitisQuantType.QInt16),
    "A32W32": (VitisQuantType.QInt32, VitisQuantType.QInt32),
    "float16": (VitisQuantType.QFloat16, VitisQuantType.QFloat16),
    "bfloat16": (VitisQuantType.QBFloat16, VitisQuantType.QBFloat16),
}


@cache
def of_kind(name: str, kind: str) -> Result:
    activation, weight = KINDS[kind]
    return quantize_static(
        networks.network(name),
        None,
        networks.reader(name),
        quant_format=VitisQuantFormat.QDQ,
        calibrate_method=PowerOfTwoMethod.MinMSE,
        activation_type=activation,
        weight_type=weight,
        extra_options={"Recipe": "plain"},  # types alone: biases are corrected where a type leaves room for it
    )


@pytest.mark.parametrize("name", TYPED)
def test_more_bits_give_more_decibels(name: str) -> None:
    found = {kind: sqnr(of_kind(name, kind), name) for kind in ("A8W8", "A16W8", "A16W16")}
    assert found["A8W8"] < found["A16W8"] <= found["A16W16"], found


@pytest.mark.parametrize("name", TYPED)
@pytest.mark.parametrize(("kind", "least"), [("A16W16", 60), ("A32W32", 60), ("float16", 52), ("bfloat16", 35)])
def test_wide_types_reach_their_decibels(name: str, kind: str, least: float) -> None:
    assert sqnr(of_kind(name, kind), name) >= least


@pytest.mark.parametrize("name", TYPED)
@pytest.mark.parametrize("kind", ["A16W16", "float16", "bfloat16"])
def test_sixteen_bits_keep_the_accuracy(name: str, kind: str) -> None:
    assert abs(accuracy(of_kind(name, kind), name) - float_accuracy(name)) <= 0.003 + 1e-9
