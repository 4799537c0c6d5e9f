"""What the NPU's targets preset, take and refuse."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import pytest

from ort_vitis_ipu.cnn import IPU_CNN
from ort_vitis_ipu.op_types import DPU, GENERAL
from ort_vitis_ipu.transformer import IPU_TRANSFORMER_PRESET
from ort_vitis_plugin.api import (
    CalibrationMethod,
    PowerOfTwoMethod,
    QuantFormat,
    QuantType,
    UnsupportedError,
    VitisQuantFormat,
    VitisQuantType,
)
from ort_vitis_plugin.options.request import Request
from ort_vitis_plugin.pipeline.hardware_rules import why_off
from ort_vitis_plugin.plugin.catalog import Catalog
from ort_vitis_plugin.plugin.manager import new_manager
from ort_vitis_plugin.request.settings import Settings, settings_of


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog(new_manager(entry_points=False))


def ask(catalog: Catalog, options: dict[str, object] | None = None, **arguments: Any) -> Settings:
    """Settings of the recommended configuration, changed by the arguments; what is named ``default`` was left alone."""
    asked: dict[str, Any] = {
        "quant_format": QuantFormat.QDQ,
        "calibrate_method": PowerOfTwoMethod.MinMSE,
        "activation_type": QuantType.QUInt8,
        "weight_type": QuantType.QInt8,
        **arguments,
    }
    return settings_of(
        Request("model.onnx", None, None, given={"EnableDPU": True, **(options or {})}, **asked), catalog
    )


TAKEN: dict[str, tuple[dict[str, object], dict[str, Any]]] = {
    "recommended": ({"ActivationSymmetric": True}, {}),
    "presets alone": ({}, {}),
    "NonOverflow": ({}, {"calibrate_method": PowerOfTwoMethod.NonOverflow}),
    "int8 activations": ({}, {"activation_type": QuantType.QInt8}),
    "FixNeuron": ({}, {"quant_format": VitisQuantFormat.FixNeuron, "activation_type": QuantType.QInt8}),
    "Vitis QDQ": ({}, {"quant_format": VitisQuantFormat.QDQ}),
    "Vitis QDQ, wide activations": (
        {},
        {"quant_format": VitisQuantFormat.QDQ, "activation_type": VitisQuantType.QInt16},
    ),
    "Vitis QDQ, wide weights": ({}, {"quant_format": VitisQuantFormat.QDQ, "weight_type": VitisQuantType.QInt16}),
    "WeightSymmetric None": ({"WeightSymmetric": None}, {}),
    "empty channel axes": ({"QDQOpTypePerChannelSupportToAxis": {}}, {}),
}

REFUSED: dict[str, tuple[dict[str, object], dict[str, Any], str]] = {
    "MinMax": ({}, {"calibrate_method": CalibrationMethod.MinMax}, "MinMax .*PowerOfTwoMethod.MinMSE"),
    "Percentile": ({}, {"calibrate_method": CalibrationMethod.Percentile}, "Percentile .*ipu_transformer"),
    "per_channel": ({}, {"per_channel": True}, "per_channel=True.*per_channel=False"),
    "reduce_range": ({}, {"reduce_range": True}, "reduce_range=True"),
    "uint8 weights": ({}, {"weight_type": QuantType.QUInt8}, "weight_type=QUInt8.*QuantType.QInt8"),
    "int16 weights in QDQ": ({}, {"weight_type": VitisQuantType.QInt16}, "weight_type=QInt16.*VitisQuantFormat.QDQ"),
    "uint8 weights in Vitis QDQ": (
        {},
        {"weight_type": QuantType.QUInt8, "quant_format": VitisQuantFormat.QDQ},
        "weight_type=QUInt8",
    ),
    "asymmetric activations": ({"ActivationSymmetric": False}, {}, "ActivationSymmetric=False.*True"),
    "asymmetric weights": ({"WeightSymmetric": False}, {}, "WeightSymmetric=False"),
    "float biases": ({"QuantizeBias": False}, {}, "QuantizeBias=False"),
    "channel axes": ({"QDQOpTypePerChannelSupportToAxis": {"MatMul": 1}}, {}, "QDQOpTypePerChannelSupportToAxis"),
}


@pytest.mark.parametrize("case", TAKEN)
def test_takes(case: str, catalog: Catalog) -> None:
    options, arguments = TAKEN[case]
    assert IPU_CNN.check is not None
    IPU_CNN.check(ask(catalog, options, **arguments))


@pytest.mark.parametrize("case", REFUSED)
def test_refuses(case: str, catalog: Catalog) -> None:
    options, arguments, message = REFUSED[case]
    assert IPU_CNN.check is not None
    with pytest.raises(UnsupportedError, match=message):
        IPU_CNN.check(ask(catalog, options, **arguments))


@pytest.mark.parametrize(
    ("arguments", "noted"),
    [
        ({}, False),
        ({"weight_type": VitisQuantType.QInt16}, True),
        ({"activation_type": VitisQuantType.QBFloat16}, True),
    ],
)
def test_says_that_rules_are_off(arguments: dict[str, Any], noted: bool, catalog: Catalog) -> None:
    settings = ask(catalog, quant_format=VitisQuantFormat.QDQ, **arguments)
    assert IPU_CNN.check is not None
    IPU_CNN.check(settings)
    assert ("rules on positions are off" in (why_off(settings) or "")) == noted


def test_presets_fill_in_what_was_left_alone(catalog: Catalog) -> None:
    run = ask(catalog, calibrate_method=CalibrationMethod.MinMax, default=frozenset({"calibrate_method"}))
    assert run.method.key == PowerOfTwoMethod.MinMSE
    assert run.options["ActivationSymmetric"] is True


def test_the_transformer_flow_takes_float_scales(catalog: Catalog) -> None:
    request = Request(
        "model.onnx",
        None,
        None,
        QuantFormat.QDQ,
        PowerOfTwoMethod.MinMSE,
        QuantType.QInt8,
        QuantType.QInt8,
        given={"Target": "ipu_transformer"},
        default=frozenset({"calibrate_method"}),
    )
    run = settings_of(request, catalog)
    assert run.method.key == CalibrationMethod.MinMax
    assert run.op_types == {"Conv", "ConvTranspose", "Gemm", "MatMul"}
    assert IPU_TRANSFORMER_PRESET.arguments["activation_type"] == QuantType.QInt8


def test_limitation_check_has_two_names(catalog: Catalog) -> None:
    assert ask(catalog, {"NPULimitationCheck": False}).options["IPULimitationCheck"] is False


def test_op_types() -> None:
    assert len(GENERAL - {"Flatten"}) == 27
    assert len(DPU - GENERAL) == 13
    assert IPU_CNN.bias_as_weight
