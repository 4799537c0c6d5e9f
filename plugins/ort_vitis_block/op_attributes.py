"""The block ops go by two names each, of vai_q_onnx and of AMD Quark, and have the same attributes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Mapping

from ort_vitis_plugin.api import ModelError

from .element_types import ELEMENT_TYPES

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

METHODS = ("to_bfp", "to_bfp_prime")
BIT_WIDTHS = range(10, 33)
SHIFT_BITS = range(7)

Attributes = Mapping[str, int | str]


def _require(where: str, name: str, value: int | str, allowed: bool, wanted: str) -> None:
    if not allowed:
        shown = f"'{value}'" if isinstance(value, str) else value
        raise ModelError(f"{where}{name} is {shown}; it must be {wanted}")


def _require_integers(attributes: Attributes, defaults: Attributes, where: str) -> dict[str, int]:
    integers = {}
    for name, default in defaults.items():
        value = attributes.get(name, default)
        if isinstance(default, int):
            _require(where, name, value, isinstance(value, int), "an integer")
            integers[name] = int(value)
    _require(where, "block_size", integers["block_size"], integers["block_size"] >= 1, "an integer of at least 1")
    mode = integers["rounding_mode"]
    _require(where, "rounding_mode", mode, mode in range(3), "an integer from 0 to 2")
    return integers


def check_block_floating_point(attributes: Attributes, where: str = "") -> None:
    """Raise ModelError, its text beginning with ``where``, for attributes that BFPFixNeuron does not have."""
    integers = _require_integers(attributes, BFP_DEFAULTS, where)
    method = attributes.get("bfp_method", "to_bfp")
    _require(where, "bfp_method", method, method in METHODS, "'to_bfp' or 'to_bfp_prime'")
    width = integers["bit_width"]
    _require(where, "bit_width", width, width in BIT_WIDTHS, "an integer from 10 to 32")
    for name in ("convert_to_bfloat_before_bfp", "use_compiler_version_cpu_kernel"):
        _require(where, name, integers[name], integers[name] == 0, "0")
    block, part, shift = (integers[name] for name in ("block_size", "sub_block_size", "sub_block_shift_bits"))
    _require(where, "sub_block_size", part, part >= 1, "an integer of at least 1")
    _require(where, "sub_block_shift_bits", shift, shift in SHIFT_BITS, "an integer from 0 to 6")
    if method == "to_bfp_prime" and block % part:
        raise ModelError(f"{where}sub_block_size is {part}; it must divide block_size, which is {block}")


def check_microscaling(attributes: Attributes, where: str = "") -> None:
    """Raise ModelError, its text beginning with ``where``, for attributes that MXFixNeuron does not have."""
    _require_integers(attributes, MX_DEFAULTS, where)
    element = attributes.get("element_dtype", "int8")
    names = ", ".join(f"'{name}'" for name in ELEMENT_TYPES)
    _require(where, "element_dtype", element, element in ELEMENT_TYPES, f"one of {names}")
