"""From these opsets on ONNX's own operators take what codes need."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

# Clip takes integers.
CLIP_ON_CODES_OPSET = 12

# QuantizeLinear and DequantizeLinear have an axis: scales per channel.
AXIS_OPSET = 13

# They take 16 and 4 bits, and scales per block.
WIDE_OPSET = 21
