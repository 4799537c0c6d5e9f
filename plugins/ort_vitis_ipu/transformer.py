"""The NPU's transformer flow: products of matrices in 8-bit integers with float scales, the rest as it is.

Sums of residuals, norms, Softmax and Gelu are a small part of the work and carry the outliers: in eight bits they cost
most of the accuracy (tests/zoo/README.md).

Source: the Vitis AI Quantizer for ONNX 1.16 manual, configuration for transformers; measured in tests/zoo/README.md.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin.api import PRODUCTS, CalibrationMethod, Preset, QuantFormat, QuantType, Target

DEFAULTS = {
    "quant_format": QuantFormat.QDQ,
    "calibrate_method": CalibrationMethod.MinMax,
    "activation_type": QuantType.QInt8,
    "weight_type": QuantType.QInt8,
}

IPU_TRANSFORMER = Target(
    "ipu_transformer",
    "Transformers on the Ryzen AI NPU: MatMul, Gemm and Conv with MinMax and float scales, int8 by int8.",
    defaults=DEFAULTS,
    op_types=PRODUCTS,
    keeps_opset=True,
    own_parameters=True,
    aliases=("npu_transformer",),
)

IPU_TRANSFORMER_PRESET = Preset(
    "ipu_transformer",
    "The configuration for transformers on the NPU: int8 by int8, float scales, products of matrices alone.",
    arguments=DEFAULTS,
    recipe={"Target": "ipu_transformer"},
    aliases=("npu_transformer",),
)
