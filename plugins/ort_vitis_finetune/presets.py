"""Recipes that cost more than a call of their target, and keep more accuracy."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin.api import PowerOfTwoMethod, Preset, QuantFormat, QuantType


def _powers_of_two(weight: QuantType) -> dict[str, object]:
    return {
        "quant_format": QuantFormat.QDQ,
        "calibrate_method": PowerOfTwoMethod.MinMSE,
        "activation_type": QuantType.QUInt8,
        "weight_type": weight,
    }


XINT8_BEST = Preset(
    "XINT8_BEST",
    "For CNNs on the NPU, uint8 by int8 in powers of two: equalized, and weights rounded for their layers.",
    arguments=_powers_of_two(QuantType.QInt8),
    recipe={"Target": "ipu_cnn", "IncludeCLE": True, "FastFinetune": True},
)
A8W4 = Preset(
    "A8W4",
    "Weights of 4 bits under activations of 8, in powers of two: equalized, and weights rounded for their layers.",
    arguments=_powers_of_two(QuantType.QInt4),
    recipe={"Target": "cpu", "IncludeCLE": True, "CLEObjective": "error", "FastFinetune": True},
)
PRESETS = (XINT8_BEST, A8W4)
