"""Eight bits by eight bits: with powers of two for the NPU, with float scales for whatever multiplies by floats."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin.api import CalibrationMethod, PowerOfTwoMethod, Preset, QuantFormat, QuantType


def xint8(quant_format: object) -> dict[str, object]:
    """uint8 by int8 with powers of two of least error."""
    return {
        "quant_format": quant_format,
        "calibrate_method": PowerOfTwoMethod.MinMSE,
        "activation_type": QuantType.QUInt8,
        "weight_type": QuantType.QInt8,
    }


def _float_scales(activation: QuantType) -> dict[str, object]:
    return {
        "quant_format": QuantFormat.QDQ,
        "calibrate_method": CalibrationMethod.MinMax,
        "activation_type": activation,
        "weight_type": QuantType.QInt8,
    }


EIGHT_BITS = (
    Preset(
        "XINT8",
        "CNNs on the NPU: uint8 by int8, power-of-two scales of least error; the same as ipu_cnn.",
        arguments=xint8(QuantFormat.QDQ),
        recipe={"Target": "ipu_cnn", "IncludeCLE": "auto"},
    ),
    Preset(
        "A8W8",
        "int8 activations by int8 weights, float scales, zero points by the range.",
        arguments=_float_scales(QuantType.QInt8),
        recipe={"Target": "cpu"},
    ),
    Preset(
        "S8S8",
        "int8 by int8, float scales, activations symmetric too: no zero point but 0.",
        arguments=_float_scales(QuantType.QInt8),
        recipe={"Target": "cpu", "ActivationSymmetric": True},
    ),
    Preset(
        "U8S8",
        "uint8 activations by int8 weights, float scales, zero points by the range.",
        arguments=_float_scales(QuantType.QUInt8),
        recipe={"Target": "cpu"},
    ),
)
