"""Elements of a block that share an exponent are whole multiples of one step, on which weights can be rounded anew.

A multiple that the block's exponent allows passes the op as it is: should the largest magnitude fall, steps get finer.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from ort_vitis_plugin.api import Multiples

from .element_types import ELEMENT_TYPES
from .numpy_reference import exponents_of, in_blocks, part_exponents
from .op_attributes import BFP_DEFAULTS, BLOCK_FLOATING_POINT, BLOCK_OPS, MX_DEFAULTS

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import NodeProto

LEAST_EXPONENT = -126
"""Of a step: below it float32 has no normal numbers."""


def constant_grid(node: NodeProto, array: NDArray[np.float32]) -> Multiples | None:
    """The multiples that each element of a constant (any shape) may take before a block op.

    None for other ops, for elements that are floats themselves, and for what has no blocks or is not finite.
    """
    key = (node.domain, node.op_type)
    if key not in BLOCK_OPS or array.size <= 1 or not np.isfinite(array).all():
        return None
    given = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    if key in BLOCK_FLOATING_POINT:
        return _floating_point({**BFP_DEFAULTS, **given}, array)
    return _microscaling({**MX_DEFAULTS, **given}, array)


def _floating_point(attributes: dict[str, Any], array: NDArray[np.float32]) -> Multiples:
    mantissa = attributes["bit_width"] - 9
    has_parts = attributes["bfp_method"] == b"to_bfp_prime"
    part, shift_bits = attributes["sub_block_size"], attributes["sub_block_shift_bits"]

    def steps(blocks: NDArray[np.float32]) -> NDArray[np.float32]:
        shared = part_exponents(blocks, part, shift_bits) if has_parts else exponents_of(blocks).max(-1, keepdims=True)
        return _powers(shared + 1 - mantissa, blocks)

    limit = (1 << mantissa) - 1
    return Multiples(in_blocks(array, attributes["axis"], attributes["block_size"], steps), -limit, limit)


def _microscaling(attributes: dict[str, Any], array: NDArray[np.float32]) -> Multiples | None:
    element = ELEMENT_TYPES[attributes["element_dtype"].decode()]
    if not element.is_integer:
        return None

    def steps(blocks: NDArray[np.float32]) -> NDArray[np.float32]:
        return _powers(exponents_of(blocks).max(-1, keepdims=True) - element.emax - element.mantissa, blocks)

    # The least code of the type is a power of two: alone it would give its block another exponent.
    limit = int(element.high * (1 << element.mantissa))
    return Multiples(in_blocks(array, attributes["axis"], attributes["block_size"], steps), -limit, limit)


def _powers(exponents: NDArray[np.int64], blocks: NDArray[np.float32]) -> NDArray[np.float32]:
    least = np.maximum(exponents, LEAST_EXPONENT)
    return np.broadcast_to(np.ldexp(np.float32(1), least.astype(np.int32)), blocks.shape)
