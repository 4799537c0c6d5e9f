"""ONNX pads each side apart, or so that the output has the input's size; torch pads both sides alike."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from .registry import Attributes, Function, integers, operator

Sizes = Sequence[int]


def split_pads(pads: Sizes) -> tuple[list[int], list[int]]:
    """The pads at the begin and at the end of every dimension."""
    half = len(pads) // 2
    return list(pads[:half]), list(pads[half:])


def explicit_pads(
    attributes: Attributes, size: Sizes, kernel: Sizes, strides: Sizes, dilations: Sizes
) -> tuple[list[int], list[int]]:
    """What ``pads`` or ``auto_pad`` of a Conv or a pool mean for an input of that spatial size."""
    auto = attributes.get("auto_pad", "NOTSET")
    if auto == "VALID":
        return [0] * len(size), [0] * len(size)
    if auto not in ("SAME_UPPER", "SAME_LOWER"):
        return split_pads(attributes.get("pads", [0] * 2 * len(size)))
    begin, end = [], []
    for n, k, s, d in zip(size, kernel, strides, dilations, strict=True):
        total = max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
        small, large = total // 2, total - total // 2
        begin.append(small if auto == "SAME_UPPER" else large)
        end.append(large if auto == "SAME_UPPER" else small)
    return begin, end


def padded(x: Tensor, begin: Sizes, end: Sizes, value: float = 0.0) -> Tensor:
    """``x`` with its last dimensions padded by a constant."""
    if not any(begin) and not any(end):
        return x
    return functional.pad(x, torch_order(begin, end), value=value)


def torch_order(begin: Sizes, end: Sizes) -> list[int]:
    """torch lists pads from the last dimension to the first."""
    return [each for b, e in zip(reversed(begin), reversed(end), strict=True) for each in (b, e)]


def cropped(x: Tensor, begin: Sizes, end: Sizes) -> Tensor:
    """``x`` without so many values at the ends of its last dimensions."""
    first = x.ndim - len(begin)
    for axis, (b, e) in enumerate(zip(begin, end, strict=True), first):
        if b or e:
            x = x.narrow(axis, b, x.shape[axis] - b - e)
    return x


@operator("Pad")
def pad(attributes: Attributes) -> Function:
    """Values around a tensor: constant, reflected, those of the edge, or from the other end."""
    mode = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "wrap": "circular"}[
        attributes.get("mode", "constant")
    ]
    fixed, fixed_value = attributes.get("pads"), attributes.get("value", 0.0)

    def done(x: Tensor, pads: Any = None, value: Tensor | None = None, axes: Any = None) -> Tensor:
        listed = integers(pads if fixed is None else fixed)
        low, high = split_pads(listed)
        if axes is not None:
            begin, end = [0] * x.ndim, [0] * x.ndim
            for axis, b, e in zip(integers(axes), low, high, strict=True):
                begin[axis], end[axis] = b, e
        else:
            begin, end = low, high
        if mode == "constant":
            fill = fixed_value if value is None or value.numel() == 0 else value.item()
            return functional.pad(x, torch_order(begin, end), value=fill)
        return _by_index(x, begin, end, mode)

    return done


def _by_index(x: Tensor, begin: Sizes, end: Sizes, mode: str) -> Tensor:
    """Axis by axis, for any number of axes: torch's own reflect and replicate take the last three."""
    for axis, (b, e) in enumerate(zip(begin, end, strict=True)):
        if not b and not e:
            continue
        size = x.shape[axis]
        at = torch.arange(-b, size + e, device=x.device)
        if mode == "replicate":
            at = at.clamp(0, size - 1)
        elif mode == "circular":
            at = at.remainder(size)
        else:
            period = max(2 * (size - 1), 1)
            at = at.remainder(period)
            at = torch.minimum(at, period - at)
        x = x.index_select(axis, at)
    return x
