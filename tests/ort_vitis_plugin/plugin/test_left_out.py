"""Each bundled plugin can be blocked: what does not need it works, what needs it says which one is missing."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import onnx
import pytest
from onnxruntime.quantization import CalibrationMethod

import ort_vitis_plugin
from ort_vitis_plugin import PowerOfTwoMethod, VitisQuantFormat, VitisQuantType
from ort_vitis_plugin.api import QuantType
from ort_vitis_plugin.demo import data
from ort_vitis_plugin.errors import MissingPluginError, UnknownNameError
from ort_vitis_plugin.plugin.manager import BUNDLED, new_manager

MIN_MAX: dict[str, Any] = {"calibrate_method": CalibrationMethod.MinMax, "activation_type": QuantType.QUInt8}
NPU: dict[str, Any] = {"quant_format": VitisQuantFormat.QDQ, "enable_dpu": True, "activation_type": QuantType.QUInt8}

# What works without the plugin (a configuration for the demo), and what does not, with the name that it misses.
WITHOUT: dict[str, tuple[dict[str, Any], dict[str, tuple[dict[str, Any], str]]]] = {
    "ort_vitis_upstream": (
        NPU,
        {
            "target": ({}, "cpu is not a known target"),
            "method": ({**NPU, "enable_dpu": False, **MIN_MAX}, "cpu is not a known target"),
            "format": ({"enable_dpu": True}, "QuantFormat.QDQ is not a known format"),
        },
    ),
    "ort_vitis_formats": (
        {},
        {
            "format": ({"quant_format": VitisQuantFormat.QDQ}, "VitisQuantFormat.QDQ is not a known format"),
            "name": ({"extra_options": {"Format": "FixNeuron"}}, "FixNeuron is not a known format"),
            "option": ({**MIN_MAX, "extra_options": {"Int16Scale": True}}, "the option Int16Scale has no effect"),
        },
    ),
    "ort_vitis_block": (
        {},
        {
            "format": ({"quant_format": VitisQuantFormat.MXFixNeuron}, "MXFixNeuron is not a known format"),
            "type": ({"activation_type": VitisQuantType.QBFP16}, "no plugin here declares QBFP16"),
            "preset": ({"extra_options": {"Preset": "BFP16"}}, "BFP16 is not a known preset"),
            "option": ({"extra_options": {"FoldConstantBlocks": True}}, "the option FoldConstantBlocks has no effect"),
        },
    ),
    "ort_vitis_pow2": (
        MIN_MAX,
        {
            "default method": ({}, "PowerOfTwoMethod.MinMSE is not a known calibration method"),
            "method": ({"calibrate_method": PowerOfTwoMethod.NonOverflow}, "NonOverflow is not a known calibration"),
            "option": ({**MIN_MAX, "extra_options": {"MinMSEMode": "MostCommon"}}, "the option MinMSEMode has no eff"),
        },
    ),
    "ort_vitis_prepare": (
        {},
        {
            "equalization": ({"include_cle": True}, "the option IncludeCLE has no effect"),
            "layout": ({"convert_nchw_to_nhwc": True}, "the option ConvertNCHWToNHWC has no effect"),
            "float16": ({"convert_fp16_to_fp32": True}, "the option ConvertFP16ToFP32 has no effect"),
            "step": ({"extra_options": {"FoldBatchNorm": True}}, "the option FoldBatchNorm has no effect"),
        },
    ),
    "ort_vitis_ipu": (
        {},
        {
            "device": ({"enable_dpu": True}, "ipu_cnn is not a known target"),
            "target": ({"extra_options": {"Target": "ipu_transformer"}}, "ipu_transformer is not a known target"),
            "preset": ({"extra_options": {"Preset": "ipu_cnn"}}, "ipu_cnn is not a known preset"),
            "rule": ({"extra_options": {"AdjustShiftCut": True}}, "the option AdjustShiftCut has no effect"),
        },
    ),
    "ort_vitis_presets": ({}, {"name": ({"extra_options": {"Preset": "A16W8"}}, "A16W8 is not a known preset")}),
    "ort_vitis_finetune": (
        {},
        {"option": ({"extra_options": {"BiasCorrection": True}}, "the option BiasCorrection has no effect")},
    ),
    "ort_vitis_torch": ({}, {}),  # its names are asked for by compat.install, or imported
}


def quantize(blocked: str, **arguments: Any) -> ort_vitis_plugin.Result:
    return ort_vitis_plugin.quantize_static(
        data.model_path(),
        None,
        data.calibration_reader(8),
        plugins=new_manager(entry_points=False, blocked=(blocked,)),
        **arguments,
    )


def test_every_bundled_plugin_is_tried() -> None:
    assert tuple(WITHOUT) == BUNDLED


@pytest.mark.parametrize("blocked", BUNDLED)
def test_what_does_not_need_it_quantizes_the_demo(blocked: str) -> None:
    result = quantize(blocked, **WITHOUT[blocked][0])
    assert min(result.report.sqnr.values()) > 15


def test_without_onnxruntimes_plugin_the_device_gets_the_same_bytes() -> None:
    whole = ort_vitis_plugin.quantize_static(data.model_path(), None, data.calibration_reader(8), **NPU)
    assert quantize("ort_vitis_upstream", **NPU).model == whole.model


@pytest.mark.parametrize(
    ("blocked", "arguments", "message"),
    [
        pytest.param(blocked, arguments, message, id=f"{blocked}, {what}")
        for blocked, (_, needing) in WITHOUT.items()
        for what, (arguments, message) in needing.items()
    ],
)
def test_what_needs_it_names_it(blocked: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(MissingPluginError, match=message) as caught:
        quantize(blocked, **arguments)
    assert isinstance(caught.value, UnknownNameError)
    assert f"that is the plugin {blocked}'s, which ORT_VITIS_BLOCK leaves out" in str(caught.value)


def test_options_that_are_off_need_nothing() -> None:
    arguments = {"extra_options": {"IncludeCLE": False, "ConvertNCHWToNHWC": False}}
    assert isinstance(quantize("ort_vitis_prepare", **arguments).model, onnx.ModelProto)


def test_a_name_that_no_blocked_plugin_has_is_unknown_as_ever() -> None:
    with pytest.raises(UnknownNameError, match="ipu_x is not a known target") as caught:
        quantize("ort_vitis_pow2", extra_options={"Target": "ipu_x"})
    assert not isinstance(caught.value, MissingPluginError)


def test_blocking_by_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORT_VITIS_BLOCK", "ort_vitis_formats,ort_vitis_ipu")
    with pytest.raises(MissingPluginError, match="ort_vitis_formats"):
        quantize("", quant_format=VitisQuantFormat.QDQ, activation_type=VitisQuantType.QInt16)
