"""Op types that are quantized unless the caller lists others; the lists of vai_q_onnx 1.16.

Source: the op types that the Vitis AI Quantizer for ONNX 1.16 quantizes, without and with enable_dpu.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

# Flatten moves data as Reshape does; left out, it would leave a float gap in every classifier head.
_GENERAL = (
    "Add ArgMax AveragePool Clip Concat Conv ConvTranspose EmbedLayerNormalization Flatten Gather Gemm "
    "GlobalAveragePool InstanceNormalization LeakyRelu MatMul MaxPool Mul Pad Relu Reshape Resize Sigmoid Softmax "
    "Split Squeeze Transpose Unsqueeze Where"
)
_DPU_ONLY = (
    "DepthToSpace Div Erf HardSigmoid LayerNormalization LpNormalization Max PRelu ReduceMean Slice SpaceToDepth "
    "Sub Tanh"
)

GENERAL = frozenset(_GENERAL.split())
DPU = GENERAL | frozenset(_DPU_ONLY.split())
# Not in that list, but they run on codes as Add and Max do.
ADDED = frozenset({"Min", "Sum"})
