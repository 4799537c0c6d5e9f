"""Half floats need no ranges: bfloat16 has the exponents of float32, float16 more digits and a limit of 65504."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin.api import CalibrationMethod, Preset, VitisQuantFormat, VitisQuantType

from .eight_bits import xint8

# What carries outliers or squashes them: in eight bits these cost most of a network's accuracy.
SENSITIVE = (
    "Add",
    "Elu",
    "Erf",
    "Exp",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "InstanceNormalization",
    "LayerNormalization",
    "Mul",
    "ReduceMean",
    "Sigmoid",
    "Softmax",
    "Sub",
    "Tanh",
)


def _both(kind: VitisQuantType) -> dict[str, object]:
    return {
        "quant_format": VitisQuantFormat.QDQ,
        "calibrate_method": CalibrationMethod.MinMax,
        "activation_type": kind,
        "weight_type": kind,
    }


HALF_FLOATS = (
    Preset(
        "BF16",
        "bfloat16 by bfloat16: nothing is calibrated.",
        arguments=_both(VitisQuantType.QBFloat16),
        recipe={"Target": "cpu"},
    ),
    Preset(
        "FP16",
        "float16 by float16: nothing is calibrated; values beyond 65504 saturate.",
        arguments=_both(VitisQuantType.QFloat16),
        recipe={"Target": "cpu"},
    ),
    Preset(
        "TRANSFORMER_BF16",
        "Transformers: products of matrices in bfloat16, the rest in float32.",
        arguments=_both(VitisQuantType.QBFloat16),
        recipe={"Target": "ipu_transformer"},
    ),
    Preset(
        "BF16_XINT8",
        "Mixed by op type: products in uint8 by int8 with powers of two, sums, norms and activations in bfloat16.",
        arguments=xint8(VitisQuantFormat.QDQ),
        recipe={"Target": "cpu", "ActivationTypes": dict.fromkeys(SENSITIVE, "QBFloat16")},
    ),
)
