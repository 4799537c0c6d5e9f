"""Names of what a pair adds: tools of others rely on them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

# What is put behind a tensor's name.
GENERATED_SUFFIXES = (
    "_scale",
    "_zero_point",
    "_quantized",
    "_quantized_scale",
    "_quantized_zero_point",
    "_QuantizeLinear",
    "_QuantizeLinear_Input",
    "_QuantizeLinear_Output",
    "_DequantizeLinear",
    "_DequantizeLinear_Output",
)
