"""The NPU's transformer flow: 8-bit integers with float scales."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin.api import CalibrationMethod, QuantFormat, QuantType, Target

from .op_types import GENERAL

RECOMMENDED = {
    "quant_format": QuantFormat.QDQ,
    "calibrate_method": CalibrationMethod.MinMax,
    "activation_type": QuantType.QInt8,
    "weight_type": QuantType.QInt8,
}

IPU_TRANSFORMER = Target(
    "ipu_transformer",
    "Transformers on the Ryzen AI NPU: MinMax with float scales, int8 activations and weights.",
    presets=RECOMMENDED,
    recommended=RECOMMENDED,
    op_types=GENERAL,
)
