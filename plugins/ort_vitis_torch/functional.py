"""Operations as modules, under the names of pytorch_nndct.nn.modules.functional.

The graph sees ``+`` or ``torch.cat`` just as well; scripts that were written for the original use these.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


class Add(nn.Module):
    """input + alpha * other."""

    def forward(self, input: Tensor, other: Tensor, alpha: float = 1) -> Tensor:
        return torch.add(input, other, alpha=alpha)


class AddScalar(nn.Module):
    """input + a number."""

    def forward(self, input: Tensor, other: float) -> Tensor:
        return input + other


class Sub(nn.Module):
    """input - alpha * other."""

    def forward(self, input: Tensor, other: Tensor, alpha: float = 1) -> Tensor:
        return torch.sub(input, other, alpha=alpha)


class Mul(nn.Module):
    """The product of values."""

    def forward(self, input: Tensor, other: Tensor) -> Tensor:
        return torch.mul(input, other)


class Matmul(nn.Module):
    """The product of matrices."""

    def forward(self, input: Tensor, other: Tensor) -> Tensor:
        return torch.matmul(input, other)


class Cat(nn.Module):
    """Tensors behind each other along ``dim``."""

    def forward(self, tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
        return torch.cat(list(tensors), dim)


class Max(nn.Module):
    """torch.max, with its forms."""

    def forward(self, input: Tensor, *arguments: Any, **keywords: Any) -> Any:
        return torch.max(input, *arguments, **keywords)


class Sum(nn.Module):
    """torch.sum."""

    def forward(self, input: Tensor, *arguments: Any, **keywords: Any) -> Tensor:
        return torch.sum(input, *arguments, **keywords)


class Mean(nn.Module):
    """torch.mean."""

    def forward(self, input: Tensor, *arguments: Any, **keywords: Any) -> Tensor:
        return torch.mean(input, *arguments, **keywords)


class Interpolate(nn.Module):
    """torch.nn.functional.interpolate."""

    def forward(self, input: Tensor, *arguments: Any, **keywords: Any) -> Tensor:
        return functional.interpolate(input, *arguments, **keywords)


class Upsample(nn.Upsample):
    """torch.nn.Upsample."""


class Pad(nn.Module):
    """torch.nn.functional.pad."""

    def forward(self, input: Tensor, pad: Sequence[int], mode: str = "constant", value: float = 0) -> Tensor:
        return functional.pad(input, list(pad), mode=mode, value=value)


class Softmax(nn.Softmax):
    """torch.nn.Softmax."""


class Clamp(nn.Module):
    """torch.clamp."""

    def forward(self, input: Tensor, min: float | None = None, max: float | None = None) -> Tensor:
        return torch.clamp(input, min=min, max=max)


class Const(nn.Module):
    """A constant tensor."""

    def forward(self, data: Any, dtype: torch.dtype | None = None, device: Any = None) -> Tensor:
        return torch.as_tensor(data, dtype=dtype, device=device)


class Transpose(nn.Module):
    """Two dimensions exchanged."""

    def forward(self, input: Tensor, dim0: int, dim1: int) -> Tensor:
        return torch.transpose(input, dim0, dim1)


class Sqrt(nn.Module):
    """The square root."""

    def forward(self, input: Tensor) -> Tensor:
        return torch.sqrt(input)


__all__ = [
    "Add",
    "AddScalar",
    "Cat",
    "Clamp",
    "Const",
    "Interpolate",
    "Matmul",
    "Max",
    "Mean",
    "Mul",
    "Pad",
    "Softmax",
    "Sqrt",
    "Sub",
    "Sum",
    "Transpose",
    "Upsample",
]
