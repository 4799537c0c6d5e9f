"""Sixteen bits for activations keep what eight bits lose; Vitis QDQ, for a default session of onnxruntime turns native
16-bit pairs of MatMul and Gemm into kernels with activations of eight bits.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin.api import CalibrationMethod, Preset, VitisQuantFormat, VitisQuantType


def _vitis(weight: object) -> dict[str, object]:
    return {
        "quant_format": VitisQuantFormat.QDQ,
        "calibrate_method": CalibrationMethod.MinMax,
        "activation_type": VitisQuantType.QInt16,
        "weight_type": weight,
    }


SIXTEEN_BITS = (
    Preset(
        "A16W8",
        "int16 activations by int8 weights, float scales, zero points by the range.",
        arguments=_vitis("QInt8"),
        recipe={"Target": "cpu"},
    ),
    Preset(
        "S16S8",
        "int16 by int8, float scales, activations symmetric too: no zero point but 0.",
        arguments=_vitis("QInt8"),
        recipe={"Target": "cpu", "ActivationSymmetric": True},
    ),
    Preset(
        "A16W16",
        "int16 by int16, float scales, zero points by the range.",
        arguments=_vitis(VitisQuantType.QInt16),
        recipe={"Target": "cpu"},
    ),
)
