"""q = saturate(round(x / scale) + zero point), ties to the even code; x = (q - zero point) * scale."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import torch
from torch import Tensor

from .registry import Attributes, Function, dtype_of, operator


def _along(parameter: Tensor, x: Tensor, axis: int) -> Tensor:
    if parameter.numel() == 1:
        return parameter.reshape(())
    return parameter.reshape([-1 if dim == axis % x.ndim else 1 for dim in range(x.ndim)])


@operator("QuantizeLinear")
def quantize_linear(attributes: Attributes) -> Function:
    """Values to codes."""
    if attributes.get("block_size", 0):
        raise attributes.refuse("block_size")
    axis, to = attributes.get("axis", 1), attributes.get("output_dtype", 0)

    def quantized(x: Tensor, scale: Tensor, zero_point: Tensor | None = None) -> Tensor:
        dtype = zero_point.dtype if zero_point is not None else dtype_of(to) if to else torch.uint8
        limits = torch.iinfo(dtype)
        codes = torch.round(x / _along(scale, x, axis))
        if zero_point is not None:
            codes = codes + _along(zero_point, x, axis).to(codes.dtype)
        return codes.clamp(limits.min, limits.max).to(dtype)

    return quantized


@operator("DequantizeLinear")
def dequantize_linear(attributes: Attributes) -> Function:
    """Codes to values."""
    if attributes.get("block_size", 0):
        raise attributes.refuse("block_size")
    axis = attributes.get("axis", 1)

    def dequantized(codes: Tensor, scale: Tensor, zero_point: Tensor | None = None) -> Tensor:
        values = codes.to(torch.float32) if zero_point is None or codes.dtype == torch.int32 else codes.to(torch.int32)
        if zero_point is not None:
            values = values - _along(zero_point, codes, axis).to(values.dtype)
        return values.to(scale.dtype) * _along(scale, codes, axis)

    return dequantized
