"""Block floating point as a function: y = round(x / s) s, s = 2^(E + 1 - m), at most 2^m - 1 steps."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from onnx import TensorProto

from .block_body import BlockBody
from .op_attributes import BIT_WIDTHS, METHODS, SHIFT_BITS


def _looked_up(body: BlockBody, attribute: str, values: range, table: list[float]) -> str:
    """The entry of a table for an attribute; a value beyond its ends stops at Gather."""
    far = body.integers(len(values))
    index = body.call("Sub", body.attribute_vector(attribute), body.integers(values.start))
    index = body.call("Where", body.call("Less", index, body.integers(0)), far, index)
    return body.call("Gather", body.constant(np.array(table)), index, axis=0)


@dataclass(frozen=True)
class _Shifts:
    """What sub-blocks add; ``holds`` names where they do (empty: for all nodes)."""

    body: BlockBody
    holds: str

    def only_shifted(self, condition: str) -> str:
        return self.body.call("And", condition, self.holds) if self.holds else condition

    def part_size(self) -> str:
        size = self.body.attribute_vector("sub_block_size")
        return self.body.call("Where", self.holds, size, self.body.integers(1)) if self.holds else size

    def power(self, largest: str) -> str:
        """2^max(E_sub, E - shift); without shifts 2^E for any part of the block."""
        body = self.body
        table = [2.0 ** (1 - 2**bits) for bits in SHIFT_BITS]
        factor = _looked_up(body, "sub_block_shift_bits", SHIFT_BITS, table)
        if self.holds:
            factor = body.call("Where", self.holds, factor, body.float64(1))
        own = body.block_power(largest)
        least = body.call("Mul", body.block_power(body.reduced("ReduceMax", largest, 1)), factor)
        return body.call("Where", body.call("Greater", own, least), own, least)

    def without_subnormals(self, blocks: str, magnitudes: str) -> str:
        """Zeros of the same sign for them."""
        subnormal = self.only_shifted(self.body.call("Less", magnitudes, self.body.float32(2.0**-126)))
        kept = self.body.cast(self.body.call("Not", subnormal), TensorProto.FLOAT)
        return self.body.call("Mul", blocks, kept)

    def with_broken_blocks(self, result: str, magnitudes: str) -> str:
        """NaN for all of a block with one or an infinity."""
        body = self.body
        finite = body.call("Less", magnitudes, body.float32(np.inf))
        broken = body.cast(body.call("Not", finite), TensorProto.FLOAT)
        broken = body.reduced("ReduceMax", body.reduced("ReduceMax", broken, 2), 1)
        broken = self.only_shifted(body.call("Greater", broken, body.float32(0)))
        return body.either(broken, body.float32(np.nan), result)


def _shifts(body: BlockBody, methods: frozenset[str]) -> _Shifts | None:
    if methods == {"to_bfp"}:
        return None
    if methods == {"to_bfp_prime"}:
        return _Shifts(body, "")
    row = body.call("Greater", body.chosen("bfp_method", METHODS), body.float32(0))
    return _Shifts(body, body.call("Slice", row, body.integers(1), body.integers(2)))


def block_floating_point_body(body: BlockBody, methods: frozenset[str], modes: frozenset[int]) -> None:
    """Nodes from x to y for all nodes whose ``bfp_method`` and ``rounding_mode`` are among these."""
    shifts = _shifts(body, methods)
    layout = body.layout(shifts.part_size() if shifts else "")
    magnitudes = body.call("Abs", layout.blocks)
    takes_part = body.below(layout, magnitudes)
    largest = body.reduced("ReduceMax", body.call("Where", takes_part, magnitudes, body.float32(0)), 2)
    power = shifts.power(largest) if shifts else body.block_power(largest)
    per_power = _looked_up(body, "bit_width", BIT_WIDTHS, [2.0 ** (10 - bits) for bits in BIT_WIDTHS])
    step = body.cast(body.call("Mul", power, per_power), TensorProto.FLOAT)
    limit = _looked_up(body, "bit_width", BIT_WIDTHS, [2.0 ** (bits - 9) - 1 for bits in BIT_WIDTHS])
    limit = body.cast(limit, TensorProto.FLOAT)
    x = shifts.without_subnormals(layout.blocks, magnitudes) if shifts else layout.blocks
    codes = body.to_integers(body.call("Div", x, step), modes)
    codes = body.call("Min", body.call("Max", codes, body.call("Neg", limit)), limit)
    result = body.call("Mul", codes, step)
    passes = body.unlike(takes_part)
    if shifts:
        result = shifts.with_broken_blocks(result, magnitudes)
        plain = body.call("Not", shifts.holds) if shifts.holds else ""
        passes = body.call("And", passes, body.call("Or", layout.is_single, plain) if plain else layout.is_single)
    body.finish(layout, body.either(passes, layout.blocks, result))
