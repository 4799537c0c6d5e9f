"""A block type is a name for what one element and what a block of them stores."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ort_vitis_plugin.api import OptionError

from . import numpy_reference
from .element_types import ELEMENT_TYPES
from .op_attributes import BIT_WIDTHS, METHODS, QUARK_DOMAIN, VAI_DOMAIN

SUB_BLOCK = 2
SHIFT_BITS = 1
"""Of ``to_bfp_prime``: every pair of elements may lower its exponent by one."""


@dataclass(frozen=True)
class BlockType:
    """A type that shares an exponent of 8 bits among ``block`` elements along an axis.

    ``kind`` is ``to_bfp`` (integers of bits - 8), ``to_bfp_prime`` (the same, with a shift for each pair), or an MX
    element type; ``bits`` is the op's ``bit_width``, which counts the shared exponent, or the width of the element.
    ``rounding`` is an index into ``element_types.ROUNDINGS``. Raises OptionError for what the ops cannot do.
    """

    name: str
    kind: str
    block: int
    bits: int
    rounding: int = 2

    def __post_init__(self) -> None:
        kinds = (*METHODS, *ELEMENT_TYPES)
        if self.kind not in kinds:
            raise OptionError(f"{self.name} has the kind {self.kind!r}; it must be one of {', '.join(kinds)}")
        allowed = [ELEMENT_TYPES[self.kind].bits] if self.is_mx else BIT_WIDTHS
        if self.bits not in allowed:
            raise OptionError(f"{self.name} has {self.bits} bits; {self.kind} takes {', '.join(map(str, allowed))}")
        if self.block < 1 or (self.kind == "to_bfp_prime" and self.block % SUB_BLOCK):
            wanted = f"a multiple of {SUB_BLOCK}" if self.kind == "to_bfp_prime" else "at least 1"
            raise OptionError(f"{self.name} has blocks of {self.block}; the block must be {wanted}")
        if self.rounding not in (0, 1, 2):
            raise OptionError(f"{self.name} has the rounding {self.rounding}; it must be 0, 1 or 2")

    @property
    def is_mx(self) -> bool:
        return self.kind in ELEMENT_TYPES

    @property
    def stored_bits(self) -> float:
        """Bits for an element with its share of the exponent and of the shifts."""
        if self.is_mx:
            return self.bits + 8 / self.block
        shifts = SHIFT_BITS / SUB_BLOCK if self.kind == "to_bfp_prime" else 0.0
        return self.bits - 8 + 8 / self.block + shifts

    def op_type(self, domain: str = VAI_DOMAIN) -> str:
        """The op's name in ``com.vai.quantize`` or ``com.amd.quark``."""
        prefix = "MX" if self.is_mx else "BFP"
        return {VAI_DOMAIN: f"{prefix}FixNeuron", QUARK_DOMAIN: f"{prefix}QuantizeDequantize"}[domain]

    def attributes(self, axis: int) -> dict[str, int | str]:
        """The op's attributes for blocks along an axis."""
        shared: dict[str, int | str] = {"axis": axis, "block_size": self.block, "rounding_mode": self.rounding}
        if self.is_mx:
            return shared | {"element_dtype": self.kind}
        shared |= {"bfp_method": self.kind, "bit_width": self.bits}
        if self.kind == "to_bfp_prime":
            shared |= {"sub_block_size": SUB_BLOCK, "sub_block_shift_bits": SHIFT_BITS}
        return shared

    def quantize_dequantize(self, x: ArrayLike, axis: int) -> NDArray[np.float32]:
        """x of any shape as this type holds it, with the bits of the op."""
        if self.is_mx:
            return numpy_reference.microscaling(
                x, element_dtype=self.kind, axis=axis, block_size=self.block, rounding_mode=self.rounding
            )
        return numpy_reference.block_floating_point(
            x,
            bfp_method=self.kind,
            axis=axis,
            bit_width=self.bits,
            block_size=self.block,
            rounding_mode=self.rounding,
            sub_block_size=SUB_BLOCK if self.kind == "to_bfp_prime" else 1,
            sub_block_shift_bits=SHIFT_BITS,
        )


BLOCK_TYPES = {
    declared.name: declared
    for declared in (
        BlockType("QBFP16", "to_bfp", block=8, bits=16),
        BlockType("QBFP", "to_bfp", block=8, bits=16),
        BlockType("QMX9", "to_bfp_prime", block=16, bits=16),
        BlockType("QMX6", "to_bfp_prime", block=16, bits=13),
        BlockType("QMX4", "to_bfp_prime", block=16, bits=11),
        BlockType("QMXINT8", "int8", block=32, bits=8),
        BlockType("QMXFP8E4M3", "fp8_e4m3", block=32, bits=8),
        BlockType("QMXFP8E5M2", "fp8_e5m2", block=32, bits=8),
        BlockType("QMXFP6E3M2", "fp6_e3m2", block=32, bits=6),
        BlockType("QMXFP6E2M3", "fp6_e2m3", block=32, bits=6),
        BlockType("QMXFP4", "fp4_e2m1", block=32, bits=4),
    )
}
"""QBFP is another name of QBFP16."""
