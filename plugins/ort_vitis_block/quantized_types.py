"""A block type as a type of codes: values stay floats, and their exponents lie in the codes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass, field

from onnx import TensorProto

from ort_vitis_plugin.api import QType, QuantizedType, Scaling

from .block_types import BLOCK_TYPES, BlockType
from .element_types import ELEMENT_TYPES


@dataclass(frozen=True)
class BlockQType(QType):
    """A type of codes with its block type; ``bits`` and the limits are those of one element."""

    block: BlockType = field(kw_only=True)


def _limits(block: BlockType) -> tuple[int, int]:
    if block.is_mx:
        element = ELEMENT_TYPES[block.kind]
        scale = 2**element.mantissa if element.is_integer else 1
        return int(element.low * scale), int(element.high * scale)
    largest = 2 ** (block.bits - 9) - 1
    return -largest, largest


def quantized_type(block: BlockType, doc: str) -> QuantizedType:
    """The declaration of a block type: a plugin that yields it adds the type to the formats of block ops."""
    low, high = _limits(block)
    bits = block.bits if block.is_mx else block.bits - 8
    kind = BlockQType(block.name, TensorProto.FLOAT, bits, low, high, Scaling.NONE, block=block)
    return QuantizedType(kind, doc)


def _doc(block: BlockType) -> str:
    if block.is_mx:
        return f"Microscaling: {block.block} elements {block.kind} share a power of two."
    shifts = ", pairs shift it by one" if block.kind == "to_bfp_prime" else ""
    return f"Block floating point: {block.block} integers of {block.bits - 8} bits share an exponent{shifts}."


TYPES = tuple(quantized_type(block, _doc(block)) for block in BLOCK_TYPES.values())
