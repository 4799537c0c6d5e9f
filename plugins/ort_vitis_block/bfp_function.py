"""Block floating point as a function: y = round(x / s) s, s = 2^(E + 1 - m), at most 2^m - 1 steps."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np

from .block_body import BlockBody

METHODS = ("to_bfp", "to_bfp_prime")
_BITS = range(10, 33)
_SHIFT_BITS = range(7)


def _looked_up(body: BlockBody, attribute: str, values: range, table: list[float]) -> str:
    """The entry of a table for an attribute; a value beyond its ends stops at Gather."""
    far = body.integers(len(values))
    index = body.call("Sub", body.attribute_vector(attribute), body.integers(values.start))
    index = body.call("Where", body.call("Less", index, body.integers(0)), far, index)
    return body.call("Gather", body.constant(np.array(table)), index, axis=0)


def block_floating_point_body(body: BlockBody, methods: frozenset[str], modes: frozenset[int]) -> None:
    """Nodes from x to y for all nodes whose ``bfp_method`` and ``rounding_mode`` are among these."""
    shifts = "to_bfp_prime" in methods
    mixed = len(methods) > 1
    is_shifted = body.call("Greater", body.chosen("bfp_method", METHODS), body.float32(0)) if mixed else ""
    if mixed:
        is_shifted = body.call("Slice", is_shifted, body.integers(1), body.integers(2))

    def part_of(block: str) -> str:
        sub_block = body.attribute_vector("sub_block_size")
        return body.call("Where", is_shifted, sub_block, body.integers(1)) if mixed else sub_block

    layout = body.layout(part_of if shifts else None)
    x = layout.blocks
    magnitudes = body.call("Abs", x)
    takes_part = body.below(layout, magnitudes)
    finite = body.call("Where", takes_part, magnitudes, body.float32(0))
    largest = body.reduced("ReduceMax", finite, 2)
    power = body.block_power(largest)
    if shifts:
        shift = _looked_up(body, "sub_block_shift_bits", _SHIFT_BITS, [2.0 ** (1 - 2**bits) for bits in _SHIFT_BITS])
        if mixed:
            shift = body.call("Where", is_shifted, shift, body.float64(1))
        least = body.call("Mul", body.block_power(body.reduced("ReduceMax", largest, 1)), shift)
        power = body.call("Where", body.call("Greater", power, least), power, least)
        is_normal = body.call("Not", body.call("Less", magnitudes, body.float32(2.0**-126)))
        if mixed:
            is_normal = body.call("Or", is_normal, body.call("Not", is_shifted))
        x = body.call("Mul", x, body.cast(is_normal, 1))  # a zero of the same sign
    step = body.call("Mul", power, _looked_up(body, "bit_width", _BITS, [2.0 ** (10 - bits) for bits in _BITS]))
    step = body.cast(step, 1)
    limit = body.cast(_looked_up(body, "bit_width", _BITS, [2.0 ** (bits - 9) - 1 for bits in _BITS]), 1)
    codes = body.to_integers(body.call("Div", x, step), modes)
    codes = body.call("Min", body.call("Max", codes, body.call("Neg", limit)), limit)
    result = body.call("Mul", codes, step)
    if shifts:
        broken = body.cast(body.call("Not", body.call("Less", magnitudes, body.float32(np.inf))), 1)
        broken = body.reduced("ReduceMax", body.reduced("ReduceMax", broken, 2), 1)
        broken = body.call("Greater", broken, body.float32(0))
        if mixed:
            broken = body.call("And", broken, is_shifted)
        result = body.either(broken, body.float32(np.nan), result)
        passes = body.unlike(takes_part)
        if mixed:
            single_or_plain = body.call("Or", layout.is_single, body.call("Not", is_shifted))
            passes = body.call("And", passes, single_or_plain)
        else:
            passes = body.call("And", passes, layout.is_single)
        result = body.either(passes, layout.blocks, result)
    else:
        result = body.either(body.unlike(takes_part), layout.blocks, result)
    body.finish(layout, result)
