"""Values in float that are exactly those of codes: x -> (saturate(round(x / s) + z) - z) * s, ties to the even code.

A power-of-two step 2^-p makes this exact in float32. The gradient of x passes where its code does not saturate.
TQT (Jain et al., arXiv 1903.08066) learns a threshold t, with s = 2^ceil(log2 t) / 2^(b-1):

    dy / d log2 t = s ln 2 * { round(x / s) - x / s   inside,   qmin - z  below,   qmax - z  above }
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

Limits = tuple[int, int]

# A threshold starts half a step below the next power of two, so that its first gradients do not turn it over.
INSIDE = 0.5


class _Rounded(torch.autograd.Function):
    """The values of codes, with the gradients of x and of log2 s above."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor, log_threshold: Tensor | None, zero: Any, limits: Limits) -> Tensor:
        ratio = x / scale
        codes = torch.round(ratio) + zero
        ctx.save_for_backward(ratio, scale, codes)
        ctx.zero, ctx.limits = zero, limits
        return cast(Tensor, (codes.clamp(*limits) - zero) * scale)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        gradient = gradients[0]
        ratio, scale, codes = ctx.saved_tensors
        low, high = ctx.limits
        inside = (codes >= low) & (codes <= high)
        for_threshold = None
        if ctx.needs_input_grad[2]:
            slope = torch.where(inside, codes - ctx.zero - ratio, codes.clamp(low, high) - ctx.zero)
            for_threshold = (gradient * slope * scale * math.log(2)).sum()
        return torch.where(inside, gradient, torch.zeros_like(gradient)), None, for_threshold, None, None


class FakeQuantizer(nn.Module):
    """What a quantize/dequantize pair does to a tensor. ``limits`` are the lowest and the highest code.

    ``enabled`` is False where the tensor passes as it is; ``zero_point`` a number, or one for each index of ``axis``.
    """

    enabled: bool
    zero_point: Tensor

    def __init__(self, zero_point: Any, limits: Limits, axis: int | None = None) -> None:
        super().__init__()
        self.limits, self.axis, self.enabled = limits, axis, True
        self.register_buffer("zero_point", torch.as_tensor(np.array(zero_point, np.float32)))

    def scale(self) -> Tensor:
        """The step: a scalar, or one for each index of ``axis``."""
        raise NotImplementedError

    def threshold(self) -> Tensor | None:
        """log2 of the learned threshold, None where the step is fixed."""
        return None

    def forward(self, x: Tensor) -> Tensor:
        if not self.enabled:
            return x
        scale, zero = self.along(self.scale(), x), self.along(self.zero_point, x)
        if not torch.is_grad_enabled():
            return ((torch.round(x / scale) + zero).clamp(*self.limits) - zero) * scale
        return cast(Tensor, _Rounded.apply(x, scale.detach(), self.threshold(), zero, self.limits))

    def along(self, parameter: Tensor, x: Tensor) -> Tensor:
        """A scale or zero point, shaped to broadcast against ``x``."""
        if parameter.ndim == 0 or self.axis is None:
            return parameter.reshape(())
        return parameter.reshape([-1 if dim == self.axis % x.ndim else 1 for dim in range(x.ndim)])

    def numbers(self) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Scale and zero point, as a file holds them."""
        scale = self.scale().detach().cpu().numpy().astype(np.float32)
        return scale, self.zero_point.cpu().numpy().astype(np.int64)


class FixedPow2(FakeQuantizer):
    """The step 2^-position."""

    step: Tensor

    def __init__(self, position: int, zero_point: int = 0, limits: Limits = (-128, 127)) -> None:
        super().__init__(zero_point, limits)
        self.register_buffer("step", torch.tensor(2.0**-position))

    def scale(self) -> Tensor:
        return self.step


class FloatScale(FakeQuantizer):
    """Any step, or one for each index of ``axis``."""

    step: Tensor

    def __init__(self, scale: Any, zero_point: Any = 0, limits: Limits = (-128, 127), axis: int | None = None) -> None:
        super().__init__(zero_point, limits, axis)
        self.register_buffer("step", torch.as_tensor(np.array(scale, np.float32)))

    def scale(self) -> Tensor:
        return self.step


class TQT(FakeQuantizer):
    """A learned power-of-two step: ``log_threshold`` is the parameter, p = b - 1 - ceil(log_threshold).

    ``highest`` is a value beyond which the highest code never reaches.
    """

    def __init__(
        self, position: int, zero_point: int = 0, limits: Limits = (-128, 127), highest: float | None = None
    ) -> None:
        super().__init__(zero_point, limits)
        self.highest = highest
        self.shift = math.ceil(math.log2(limits[1] - limits[0] + 1)) - 1
        self.frozen = False
        self.log_threshold = nn.Parameter(torch.tensor(0.0))
        self.start_at(position)

    def start_at(self, position: int) -> None:
        """Take up a position."""
        with torch.no_grad():
            self.log_threshold.fill_(self.shift - position - INSIDE)

    def scale(self) -> Tensor:
        scale = torch.exp2(torch.ceil(self.log_threshold.detach()) - self.shift)
        if self.highest is None or self.highest <= 0:
            return scale  # no code lies above 0 then, whatever the step
        above = self.limits[1] - self.zero_point
        reach = torch.exp2(torch.floor(torch.log2(self.highest / above.clamp(min=1))))
        return torch.where(above > 0, torch.minimum(scale, reach), scale)

    def threshold(self) -> Tensor | None:
        return None if self.frozen else self.log_threshold

    @property
    def position(self) -> int:
        return round(-math.log2(float(self.scale())))


class Int32Bias(nn.Module):
    """A bias in steps of the product of two others, input and weight: what an accumulator adds."""

    def __init__(self, x: FakeQuantizer, weight: FakeQuantizer) -> None:
        super().__init__()
        # In a tuple, so that they are not children of this module too: each is in a state_dict once.
        self._factors, self.enabled = (x, weight), True

    def scale(self) -> Tensor:
        """The step: a scalar, or one for each channel."""
        x, weight = self._factors
        return x.scale().double() * weight.scale().double()

    def forward(self, bias: Tensor) -> Tensor:
        if not self.enabled:
            return bias
        step = self.scale()
        rounded = torch.round(bias.detach().double() / step).float() * step.float()
        return bias + (rounded - bias).detach() if torch.is_grad_enabled() else rounded
