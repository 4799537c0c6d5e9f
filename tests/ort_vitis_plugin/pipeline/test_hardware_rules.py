"""A rule is asked where its target's device computes in the types of the call, whatever their width."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from ort_vitis_plugin import VitisQuantFormat, VitisQuantType, quantize_static
from ort_vitis_plugin.plugin.manager import new_manager
from ort_vitis_plugin.report.report import Report
from ort_vitis_plugin.testing import graph, random_feeds
from tests.example_plugin import ort_vitis_wide_chip

WIDE = {
    "quant_format": VitisQuantFormat.QDQ,
    "activation_type": VitisQuantType.QInt16,
    "weight_type": VitisQuantType.QInt16,
}
OFF = "rules on positions are off"


def network() -> ModelProto:
    weights = np.random.default_rng(1).standard_normal((4, 3, 3, 3)).astype(np.float32)
    return graph(
        """t (float[1, 3, 6, 6] x) => (float[1, 4, 4, 4] y, float[1, 4, 4, 4] e)
        { [conv] h = Conv(x, w) [act] y = Relu(h) [exp] e = Exp(y) }""",
        17,
        {"w": weights},
    )


def quantized(target: str, **arguments: Any) -> Report:
    manager = new_manager(entry_points=False)
    manager.register(ort_vitis_wide_chip, "wide_chip")
    model = network()
    extra = {"Target": target, **arguments.pop("extra_options", {})}
    return quantize_static(model, None, [random_feeds(model)], plugins=manager, extra_options=extra, **arguments).report


def test_a_foreign_rule_is_asked_with_sixteen_bits() -> None:
    report = quantized("wide_chip", **WIDE)
    assert {rule for move in report.moves for rule in move.rules} == {"WideChipShift"}
    assert not report.violations
    assert not any(OFF in note for note in report.notes)
    assert set(report.placement) == {"exp"}
    assert "h" not in report.types  # fused
    assert report.sqnr["y"] > 60


def test_its_switch_turns_it_off() -> None:
    assert not quantized("wide_chip", **WIDE, extra_options={"WideChipShift": False}).moves


@pytest.mark.parametrize("mixed", ["activation_type", "weight_type"])
def test_where_the_device_does_not_compute_rules_are_off_and_the_report_says_so(mixed: str) -> None:
    report = quantized("wide_chip", **{**WIDE, mixed: VitisQuantType.QBFloat16})
    assert not report.moves
    assert any(OFF in note and "wide_chip" in note for note in report.notes)
    assert "is QBFloat16, in which the device does not compute" in report.placement["conv"]


def test_eight_bits_are_not_its_types_either() -> None:
    report = quantized("wide_chip")
    assert not report.moves
    assert "is QInt8, in which the device does not compute" in report.placement["conv"]


def test_float_scales_have_no_positions() -> None:
    report = quantized("wide_chip", calibrate_method="MinMax", **WIDE)
    assert any(OFF in note and "no powers of two" in note for note in report.notes)


@pytest.mark.parametrize("target", ["cpu", "ipu_transformer"])
def test_a_target_without_rules_has_none_to_be_off(target: str) -> None:
    assert not any(OFF in note for note in quantized(target, **WIDE).notes)


def test_the_npu_computes_in_eight_bits() -> None:
    report = quantized("ipu_cnn", quant_format=VitisQuantFormat.QDQ, activation_type=VitisQuantType.QInt16)
    assert any(OFF in note for note in report.notes)
    assert not any(OFF in note for note in quantized("ipu_cnn").notes)
