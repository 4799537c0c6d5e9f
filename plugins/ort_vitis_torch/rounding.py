"""Weights are rounded by training: AdaQuant and AdaRound, on the columns that a layer multiplies.

AdaQuant (Hubara et al., arXiv 2006.10518) moves weights and bias by the straight-through gradient; AdaRound (Nagel et
al., arXiv 2004.10568) learns for each weight whether it is rounded up or down, and bias by its gradient. Learning rates
count in steps of the weight, and every output in shares of its own variance, so that none has to be tuned.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ort_vitis_plugin.api import LayerProblem

# AdaRound's rectified sigmoid and the end of its regularization (its paper's 1.1, -0.1, 20 to 2, 0.01).
STRETCH, SHIFT = 1.2, -0.1
STEEPEST, FLATTEST, REGULARIZATION, WARM = 20.0, 2.0, 0.01, 0.2
VARIABLE_RATE = 1e-2

Solution = tuple["np.ndarray[Any, Any]", "np.ndarray[Any, Any] | None"]


class _Layer:
    """A problem as tensors. ``outputs`` are those of the quantized layer, as shares of the float ones' deviation."""

    def __init__(self, problem: LayerProblem, parameters: Mapping[str, float]) -> None:
        shape = problem.weights.shape
        self.step = _tensor(np.broadcast_to(problem.step, shape))
        self.least, self.most = (_tensor(np.broadcast_to(each, shape)) for each in (problem.least, problem.most))
        self.start = _tensor(problem.start)
        self.bias = None if problem.start_bias is None else _tensor(problem.start_bias)
        self.limits = problem.activation
        self.x_q, self.weights = _tensor(problem.x_q), _tensor(problem.weights)
        wanted = self.weights @ _tensor(problem.x_f)
        wanted = wanted if problem.bias is None else wanted + _tensor(problem.bias)[:, :, None]
        wanted = wanted.clamp(*self.limits)
        variance = wanted.var(2, keepdim=True, correction=0)
        self.factor = torch.rsqrt(torch.where(variance > 0, variance, torch.ones_like(variance)))
        self.wanted = wanted * self.factor
        self.iterations, self.size = int(parameters["NumIterations"]), int(parameters["BatchSize"])
        self.rate = float(parameters["LearningRate"])
        self._generator = torch.Generator().manual_seed(problem.seed)

    def losses(self, codes: Callable[[], Tensor], bias: Tensor | None) -> Iterator[Tensor]:
        """The mean square of what is still wrong, on one batch of columns after the other."""
        columns = self.x_q.shape[2]
        for _ in range(self.iterations):
            picked = torch.randint(columns, (min(self.size, columns),), generator=self._generator)
            y = (codes() * self.step) @ self.x_q[:, :, picked]
            y = (y if bias is None else y + bias[:, :, None]).clamp(*self.limits)
            yield (y * self.factor - self.wanted[:, :, picked]).square().mean(2).sum()

    def trained_bias(self) -> tuple[Tensor | None, list[dict[str, Any]]]:
        """The bias as a variable, and its group for an optimizer: it moves in steps of the weight."""
        if self.bias is None:
            return None, []
        bias = self.bias.clone().requires_grad_()
        return bias, [{"params": [bias], "lr": self.rate * float(self.step.mean())}]


def adaquant(problem: LayerProblem, parameters: Mapping[str, float]) -> Solution:
    """Weights and bias by the straight-through gradient, with a rate that falls as a cosine."""
    layer = _Layer(problem, parameters)
    free = layer.start.clone().requires_grad_()
    bias, groups = layer.trained_bias()
    optimizer = torch.optim.Adam([{"params": [free], "lr": layer.rate}, *groups])
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, layer.iterations)

    def codes() -> Tensor:
        rounded = torch.minimum(torch.maximum(torch.round(free.detach()), layer.least), layer.most)
        return free + (rounded - free).detach()

    for loss in layer.losses(codes, bias):
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return _solution(codes(), bias)


def adaround(problem: LayerProblem, parameters: Mapping[str, float]) -> Solution:
    """Each weight goes up or down, as a rectified sigmoid driven to 0 or 1 decides; the start is one of the two."""
    layer = _Layer(problem, parameters)
    ratio = layer.weights / layer.step
    base = torch.minimum(torch.maximum(torch.floor(ratio), layer.start - 1), layer.start)
    rest = ((ratio - base).clamp(0.01, 0.99) - SHIFT) / STRETCH
    v = torch.log(rest / (1 - rest)).requires_grad_()
    bias, groups = layer.trained_bias()
    optimizer = torch.optim.Adam([{"params": [v], "lr": VARIABLE_RATE}, *groups])

    def up() -> Tensor:
        return (torch.sigmoid(v) * STRETCH + SHIFT).clamp(0, 1)

    def codes() -> Tensor:
        return torch.minimum(torch.maximum(base + up(), layer.least), layer.most)

    for number, fit in enumerate(layer.losses(codes, bias)):
        done, loss = number / layer.iterations, fit
        if done > WARM:
            power = FLATTEST + (STEEPEST - FLATTEST) * (1 + math.cos(math.pi * (done - WARM) / (1 - WARM))) / 2
            loss = fit + REGULARIZATION * (1 - (2 * up() - 1).abs().pow(power)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return _solution(torch.minimum(torch.maximum(base + (v > 0), layer.least), layer.most), bias)


def _tensor(array: Any) -> Tensor:
    return torch.from_numpy(np.array(array, np.float32))


def _solution(codes: Tensor, bias: Tensor | None) -> Solution:
    whole = torch.round(codes.detach()).numpy().astype(np.int64)
    return whole, None if bias is None else bias.detach().numpy()
