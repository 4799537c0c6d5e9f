"""Configurations of block types by the names that AMD Quark gives them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin.api import Preset, VitisQuantFormat, VitisQuantType

PRODUCTS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
# Channels that share an exponent lose what is small beside the largest; equalization needs no data.
EQUALIZED = {"IncludeCLE": True}
BFP, MX = VitisQuantFormat.BFPFixNeuron, VitisQuantFormat.MXFixNeuron


def _preset(name: str, doc: str, quant_format: VitisQuantFormat, kind: VitisQuantType) -> Preset:
    types = {"quant_format": quant_format, "activation_type": kind, "weight_type": kind}
    return Preset(name, doc, types, dict(EQUALIZED))


PRESETS = (
    _preset("BFP16", "Everything in BFP16; no calibration data are needed.", BFP, VitisQuantType.QBFP16),
    _preset("MX9", "Everything in MX9; no calibration data are needed.", BFP, VitisQuantType.QMX9),
    _preset("MX6", "Everything in MX6; no calibration data are needed.", BFP, VitisQuantType.QMX6),
    _preset("MXINT8", "Everything in MXINT8; no calibration data are needed.", MX, VitisQuantType.QMXINT8),
    _preset("MXFP8", "Everything in MXFP8 E4M3; no calibration data are needed.", MX, VitisQuantType.QMXFP8E4M3),
    _preset("MXFP4", "Everything in MXFP4 E2M1; no calibration data are needed.", MX, VitisQuantType.QMXFP4),
    Preset(
        "BF16_BFP16",
        "Products of matrices and convolutions in BFP16, the rest in bfloat16; no calibration data are needed.",
        {"quant_format": BFP, "activation_type": VitisQuantType.QBFloat16, "weight_type": VitisQuantType.QBFloat16},
        {**EQUALIZED, "MixedTypes": dict.fromkeys(PRODUCTS, "QBFP16")},
    ),
)
