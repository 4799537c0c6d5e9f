"""The plain target: whatever onnxruntime itself quantizes, without hardware rules."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin.api import Preset, QuantFormat, QuantType, Target

from .operators import op_types


def cpu() -> Target:
    """The op types are those of the installed onnxruntime's registries, read and never changed, and a few more."""
    return Target(
        "cpu",
        "Any machine that runs onnxruntime: no hardware rules, int32 biases, per-channel weights allowed.",
        op_types=op_types(),
    )


CPU_PRESET = Preset(
    "cpu",
    "onnxruntime's advice for CPUs: uint8 by int8, the range from the least to the greatest value.",
    arguments={
        "quant_format": QuantFormat.QDQ,
        "calibrate_method": "MinMax",
        "activation_type": QuantType.QUInt8,
        "weight_type": QuantType.QInt8,
    },
    recipe={"Target": "cpu"},
)
