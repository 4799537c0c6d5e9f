"""What the block ops compute, in numpy: the specification of the C++ kernels and of the function bodies."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ort_vitis_plugin.api import ModelError

from .element_types import ELEMENT_TYPES
from .op_attributes import check_block_floating_point, check_microscaling

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

_LOWEST = -127 * 2.0**121
"""-128 steps of 2^121 are no float32."""


def exponents_of(x: Floats) -> NDArray[np.int64]:
    """floor(log2 |x|) by the exponent field: -127 for zeros and subnormals, and for what is not finite."""
    fields = (np.abs(x).view(np.int32) >> 23).astype(np.int64)
    return np.where(fields == 255, 0, fields) - 127


def _rounded(steps: Doubles, mode: int) -> Doubles:
    """To an integer; a half goes away from zero (0), up (1) or to the even neighbour (2). Zeros keep their sign."""
    even = np.rint(steps)
    if mode == 2:
        return np.asarray(even)
    away = np.ones(steps.shape, bool) if mode == 0 else steps > 0
    magnitude, nearest = np.abs(steps), np.abs(even)
    up = away & (magnitude - nearest == 0.5)
    down = ~away & (nearest - magnitude == 0.5)
    return np.asarray(np.copysign(nearest + up - down, steps))


def _on_grid(x: Floats, exponent: NDArray[np.int64], limits: tuple[Doubles, Doubles], mode: int) -> Floats:
    """The multiple of 2^exponent nearest to x, within the limits; what is not finite passes."""
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        rounded = np.ldexp(_rounded(np.ldexp(wide, -exponent), mode), exponent)
        clamped = np.copysign(np.clip(rounded, *limits), wide).astype(np.float32)
    return np.where(np.isfinite(x), clamped, x)


def in_blocks(x: ArrayLike, axis: int, block: int, quantize: Callable[[Floats], Floats]) -> Floats:
    """Blocks along an axis as the last dimension of ``[n, block]``, filled with zeros where a line ends early.

    Raises:
        ModelError: x [...] has no such axis.
    """
    values = np.asarray(x, np.float32)
    if values.size <= 1:
        return values.copy()
    if values.ndim > 1 and not -values.ndim <= axis < values.ndim:
        raise ModelError(
            f"axis {axis} is out of range for an input of shape {list(values.shape)}; "
            f"it must lie in [{-values.ndim}, {values.ndim - 1}]"
        )
    axis = axis if values.ndim > 1 else 0
    lines = np.moveaxis(values, axis, -1)
    length = lines.shape[-1]
    block = min(block, length)
    filled = np.pad(lines, [(0, 0)] * (lines.ndim - 1) + [(0, -length % block)])
    done = quantize(filled.reshape(-1, block)).reshape(filled.shape)[..., :length]
    return np.ascontiguousarray(np.moveaxis(done, -1, axis))


def part_exponents(blocks: Floats, part: int, shift_bits: int) -> NDArray[np.int64]:
    """The exponent of each element's part of a block [n, block]: the part's own, as far as its shift can lower it."""
    own = exponents_of(blocks)
    filled = np.pad(own, [(0, 0), (0, -blocks.shape[-1] % part)], constant_values=-127)
    by_part = filled.reshape(len(blocks), -1, part).max(-1).repeat(part, -1)
    least = own.max(-1, keepdims=True) - (2**shift_bits - 1)
    return np.asarray(np.maximum(by_part[:, : blocks.shape[-1]], least))


def block_floating_point(
    x: ArrayLike,
    *,
    bfp_method: str = "to_bfp",
    axis: int = 1,
    bit_width: int = 16,
    block_size: int = 8,
    rounding_mode: int = 0,
    sub_block_size: int = 2,
    sub_block_shift_bits: int = 1,
    convert_to_bfloat_before_bfp: int = 0,
    use_compiler_version_cpu_kernel: int = 0,
) -> Floats:
    """BFPFixNeuron of ``x`` in float32: m = bit_width - 9 bits of magnitude below the largest exponent of a block.

    Arguments are the attributes of the op. Raises ModelError for values that the op does not have.
    """
    check_block_floating_point(
        {
            "bfp_method": bfp_method,
            "bit_width": bit_width,
            "block_size": block_size,
            "rounding_mode": rounding_mode,
            "sub_block_size": sub_block_size,
            "sub_block_shift_bits": sub_block_shift_bits,
            "convert_to_bfloat_before_bfp": convert_to_bfloat_before_bfp,
            "use_compiler_version_cpu_kernel": use_compiler_version_cpu_kernel,
        }
    )
    mantissa = bit_width - 9

    def limited(blocks: Floats, exponents: NDArray[np.int64]) -> Floats:
        step = exponents + 1 - mantissa
        limit = np.ldexp(2.0**mantissa - 1, step)
        return _on_grid(blocks, step, (-limit, limit), rounding_mode)

    def to_bfp(blocks: Floats) -> Floats:
        return limited(blocks, exponents_of(blocks).max(-1, keepdims=True))

    def to_bfp_prime(blocks: Floats) -> Floats:
        exponents = part_exponents(blocks, sub_block_size, sub_block_shift_bits)
        normal = np.where(np.abs(blocks) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), blocks), blocks)
        broken = ~np.isfinite(blocks).all(-1, keepdims=True)
        return np.where(broken, np.float32(np.nan), limited(normal, exponents))

    return in_blocks(x, axis, block_size, to_bfp if bfp_method == "to_bfp" else to_bfp_prime)


def microscaling(
    x: ArrayLike,
    *,
    element_dtype: str = "int8",
    axis: int = 1,
    block_size: int = 32,
    rounding_mode: int = 0,
) -> Floats:
    """MXFixNeuron of ``x`` in float32: y = S element(x / S) with S = 2^max(E - emax, -127) for each block.

    Arguments are the attributes of the op. Raises ModelError for values that the op does not have.
    """
    check_microscaling({"element_dtype": element_dtype, "block_size": block_size, "rounding_mode": rounding_mode})
    element = ELEMENT_TYPES[element_dtype]

    def quantize(blocks: Floats) -> Floats:
        exponents = exponents_of(blocks).max(-1, keepdims=True)
        scale = np.maximum(exponents - element.emax, -127)
        least = scale + element.emin
        if not element.is_integer:
            with np.errstate(all="ignore"):
                own = np.frexp(blocks.astype(np.float64))[1].astype(np.int64) - 1
            least = np.where(blocks == 0, least, np.maximum(own, least))
        step = least - element.mantissa
        low = np.maximum(np.ldexp(element.low, scale), _LOWEST)
        return _on_grid(blocks, step, (low, np.ldexp(element.high, scale)), rounding_mode if element.is_integer else 2)

    return in_blocks(x, axis, block_size, quantize)
