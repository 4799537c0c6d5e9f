"""Sums of products: convolutions and matrix products."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from .padding import cropped, explicit_pads, padded, split_pads
from .registry import Attributes, Function, operator

_CONV: Any = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}
_TRANSPOSED: Any = {1: functional.conv_transpose1d, 2: functional.conv_transpose2d, 3: functional.conv_transpose3d}


@operator("Conv")
def conv(attributes: Attributes) -> Function:
    """Convolution of one, two or three dimensions."""
    group, strides, dilations = attributes.get("group", 1), attributes.get("strides"), attributes.get("dilations")
    pads = attributes.get("pads") if attributes.get("auto_pad", "NOTSET") == "NOTSET" else None
    fixed = None if pads is None else split_pads(pads)

    def convolved(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        rank = x.ndim - 2
        step, spread = strides or [1] * rank, dilations or [1] * rank
        begin, end = fixed or explicit_pads(attributes, x.shape[2:], weight.shape[2:], step, spread)
        if begin != end:
            x, begin = padded(x, begin, end), [0] * rank
        result: Tensor = _CONV[rank](x, weight, bias, step, begin, spread, group)
        return result

    return convolved


@operator("ConvTranspose")
def conv_transpose(attributes: Attributes) -> Function:
    """Transposed convolution, its output cropped by the pads."""
    group, strides, dilations = attributes.get("group", 1), attributes.get("strides"), attributes.get("dilations")
    output_padding, output_shape = attributes.get("output_padding"), attributes.get("output_shape")
    auto = attributes.get("auto_pad", "NOTSET")

    def convolved(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        rank = x.ndim - 2
        step, spread, extra = strides or [1] * rank, dilations or [1] * rank, output_padding or [0] * rank
        begin, end = split_pads(attributes.get("pads", [0] * 2 * rank))
        full = [
            s * (size - 1) + e + (k - 1) * d + 1
            for s, size, e, k, d in zip(step, x.shape[2:], extra, weight.shape[2:], spread, strict=True)
        ]
        if output_shape is not None or auto in ("SAME_UPPER", "SAME_LOWER"):
            wanted = output_shape[-rank:] if output_shape else [n * s for n, s in zip(x.shape[2:], step, strict=True)]
            total = [max(f - w, 0) for f, w in zip(full, wanted, strict=True)]
            small, large = [t // 2 for t in total], [t - t // 2 for t in total]
            begin, end = (small, large) if auto != "SAME_LOWER" else (large, small)
            extra = [e + max(w - f, 0) for e, w, f in zip(extra, wanted, full, strict=True)]
        # torch takes output_padding only below stride or dilation; zeros behind the full result are the same.
        result: Tensor = _TRANSPOSED[rank](x, weight, None, step, 0, 0, group, spread)
        result = cropped(padded(result, [0] * rank, extra), begin, end)
        return result if bias is None else result + bias.reshape(1, -1, *[1] * rank)

    return convolved


@operator("Gemm")
def gemm(attributes: Attributes) -> Function:
    """alpha * A B + beta * C, each of A and B transposed where asked."""
    alpha, beta = attributes.get("alpha", 1.0), attributes.get("beta", 1.0)
    trans_a, trans_b = attributes.get("transA", 0), attributes.get("transB", 0)

    def product(a: Tensor, b: Tensor, c: Tensor | None = None) -> Tensor:
        if not trans_a and trans_b and alpha == 1 and beta == 1 and c is not None and c.ndim == 1:
            return functional.linear(a, b, c)
        a, b = a.t() if trans_a else a, b.t() if trans_b else b
        result = a @ b
        result = result if alpha == 1 else alpha * result
        return result if c is None else result + (c if beta == 1 else beta * c)

    return product


@operator("MatMul")
def matmul(attributes: Attributes) -> Function:
    """The product of matrices, or of stacks of them."""
    return lambda a, b: torch.matmul(a, b)


@operator("Einsum")
def einsum(attributes: Attributes) -> Function:
    """A sum of products by equation."""
    equation = attributes.get("equation")

    def product(*tensors: Tensor) -> Tensor:
        result: Tensor = torch.einsum(equation, *tensors)
        return result

    return product


@operator("DepthToSpace")
def depth_to_space(attributes: Attributes) -> Function:
    """Channels become blocks of pixels."""
    size, is_crd = attributes.get("blocksize"), attributes.get("mode", "DCR") == "CRD"

    def moved(x: Tensor) -> Tensor:
        n, c, h, w = x.shape
        if is_crd:
            return functional.pixel_shuffle(x, size)
        split = x.reshape(n, size, size, c // size**2, h, w)
        return split.permute(0, 3, 4, 1, 5, 2).reshape(n, c // size**2, h * size, w * size)

    return moved


@operator("SpaceToDepth")
def space_to_depth(attributes: Attributes) -> Function:
    """Blocks of pixels become channels."""
    size, is_crd = attributes.get("blocksize"), attributes.get("mode", "DCR") == "CRD"

    def moved(x: Tensor) -> Tensor:
        n, c, h, w = x.shape
        if is_crd:
            return functional.pixel_unshuffle(x, size)
        split = x.reshape(n, c, h // size, size, w // size, size)
        return split.permute(0, 3, 5, 1, 2, 4).reshape(n, c * size**2, h // size, w // size)

    return moved
