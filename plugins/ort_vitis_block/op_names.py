"""The block ops go by two names each: of vai_q_onnx and of AMD Quark."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

VAI_DOMAIN = "com.vai.quantize"
QUARK_DOMAIN = "com.amd.quark"

BLOCK_FLOATING_POINT = frozenset({(VAI_DOMAIN, "BFPFixNeuron"), (QUARK_DOMAIN, "BFPQuantizeDequantize")})
MICROSCALING = frozenset({(VAI_DOMAIN, "MXFixNeuron"), (QUARK_DOMAIN, "MXQuantizeDequantize")})
BLOCK_OPS = BLOCK_FLOATING_POINT | MICROSCALING

BFP_DEFAULTS: dict[str, int | str] = {
    "axis": 1,
    "bfp_method": "to_bfp",
    "bit_width": 16,
    "block_size": 8,
    "rounding_mode": 0,
    "sub_block_shift_bits": 1,
    "sub_block_size": 2,
    "convert_to_bfloat_before_bfp": 0,
    "use_compiler_version_cpu_kernel": 0,
}
MX_DEFAULTS: dict[str, int | str] = {"axis": 1, "block_size": 32, "element_dtype": "int8", "rounding_mode": 0}
