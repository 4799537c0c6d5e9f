"""The largest value, or the mean, of a window."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from .padding import explicit_pads, padded
from .registry import Attributes, Function, operator

_MAX: Any = {1: functional.max_pool1d, 2: functional.max_pool2d, 3: functional.max_pool3d}
_AVERAGE: Any = {1: functional.avg_pool1d, 2: functional.avg_pool2d, 3: functional.avg_pool3d}


def _window(attributes: Attributes, x: Tensor) -> tuple[list[int], list[int], list[int], list[int], list[int]]:
    """Kernel, strides, dilations, and pads at the begin and the end; ceil_mode as further pads at the end."""
    kernel = attributes.get("kernel_shape")
    rank = len(kernel)
    strides, dilations = attributes.get("strides", [1] * rank), attributes.get("dilations", [1] * rank)
    begin, end = explicit_pads(attributes, x.shape[2:], kernel, strides, dilations)
    return kernel, strides, dilations, begin, end


def _ceiling(attributes: Attributes, x: Tensor) -> list[int]:
    """How far the last window of ceil_mode reaches beyond the padded input; none begins in the padding."""
    kernel, strides, dilations, begin, end = _window(attributes, x)
    reach = []
    for n, k, s, d, b, e in zip(x.shape[2:], kernel, strides, dilations, begin, end, strict=True):
        extent = d * (k - 1) + 1
        count = math.ceil((n + b + e - extent) / s) + 1
        if (count - 1) * s >= n + b:
            count -= 1
        reach.append(max((count - 1) * s + extent - (n + b + e), 0))
    return reach


@operator("MaxPool")
def max_pool(attributes: Attributes) -> Function:
    """The largest value of each window."""
    if len(attributes.node.output) > 1 and attributes.node.output[1]:
        raise attributes.refuse("the second output (indices)")
    ceil_mode = attributes.get("ceil_mode", 0)

    def pooled(x: Tensor) -> Tensor:
        kernel, strides, dilations, begin, end = _window(attributes, x)
        if ceil_mode:
            end = [e + more for e, more in zip(end, _ceiling(attributes, x), strict=True)]
        simple = begin == end and all(2 * b <= k for b, k in zip(begin, kernel, strict=True))
        if not simple:
            lowest = -math.inf if x.is_floating_point() else torch.iinfo(x.dtype).min
            x, begin = padded(x, begin, end, lowest), [0] * len(kernel)
        dtype = x.dtype
        x = x if x.is_floating_point() else x.to(torch.float32)
        result: Tensor = _MAX[len(kernel)](x, kernel, strides, begin, dilations)
        return result.to(dtype)

    return pooled


@operator("AveragePool")
def average_pool(attributes: Attributes) -> Function:
    """The mean of each window, pads counted where asked."""
    ceil_mode, counts_pads = attributes.get("ceil_mode", 0), bool(attributes.get("count_include_pad", 0))

    def pooled(x: Tensor) -> Tensor:
        kernel, strides, dilations, begin, end = _window(attributes, x)
        rank = len(kernel)
        reach = _ceiling(attributes, x) if ceil_mode else [0] * rank
        plain = begin == end and not any(reach) and all(d == 1 for d in dilations)
        if plain and all(2 * b <= k for b, k in zip(begin, kernel, strict=True)):
            result: Tensor = _AVERAGE[rank](x, kernel, strides, begin, False, counts_pads)
            return result
        return _sums(x, kernel, strides, dilations, (begin, end, reach), counts_pads=counts_pads)

    return pooled


def _sums(x: Tensor, kernel: Any, strides: Any, dilations: Any, pads: Any, *, counts_pads: bool) -> Tensor:
    """The sum of a window by the number of values that count in it."""
    begin, end, reach = pads
    rank, channels = len(kernel), x.shape[1]
    ones = torch.ones_like(x[:1, :1])
    total = padded(x, begin, end)
    number = padded(ones, begin, end, 1.0 if counts_pads else 0.0)
    total, number = padded(total, [0] * rank, reach), padded(number, [0] * rank, reach)
    conv: Any = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}[rank]
    weight = x.new_ones((1, 1, *kernel))
    total = conv(total, weight.expand(channels, 1, *kernel), None, strides, 0, dilations, channels)
    result: Tensor = total / conv(number, weight, None, strides, 0, dilations)
    return result


@operator("GlobalAveragePool", "GlobalMaxPool")
def global_pool(attributes: Attributes) -> Function:
    """The mean or the largest value of each channel."""
    is_mean = attributes.node.op_type == "GlobalAveragePool"

    def pooled(x: Tensor) -> Tensor:
        axes = tuple(range(2, x.ndim))
        return x.mean(axes, keepdim=True) if is_mean else x.amax(axes, keepdim=True)

    return pooled
