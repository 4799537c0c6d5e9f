"""A convolution and its BatchNormalization train as two and are quantized as the one that the file holds.

With factor f = gamma / sigma_running, the codes are those of W f, what the folded convolution has. In training the
result is normalized by the batch it comes from:

    y = conv(x, Q(W f)),   out = gamma (y / f - mu_batch) / sigma_batch + beta

and in evaluation, or with frozen statistics, out = y + Q(beta + (b - mu_running) f), which is what is written.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from onnx import ModelProto, NodeProto
from torch import Tensor, nn

from ort_vitis_plugin.api import CONVOLUTIONS, array_of, attribute

SMALLEST = 1e-12
TORCH_MOMENTUM = 0.1  # BatchNorm's own


@dataclass(frozen=True)
class Pair:
    """A convolution and the BatchNormalization that alone reads it, with their constants in ONNX's order.

    ``momentum`` is torch's: the share of the batch in the running statistics. Without ``is_affine`` gamma and beta are
    1 and 0 for good.
    """

    conv: NodeProto
    weight: Tensor
    bias: Tensor | None
    gamma: Tensor
    beta: Tensor
    mean: Tensor
    variance: Tensor
    epsilon: float
    momentum: float
    is_transposed: bool
    is_affine: bool = True


def pairs(model: ModelProto) -> dict[str, Pair]:
    """The pairs of a graph in which BatchNormalization was kept, by the convolution's name."""
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    parameters = set(constants)
    stated = [node for node in model.graph.node if node.op_type == "Constant" and node.attribute[0].name == "value"]
    constants.update((node.output[0], node.attribute[0].t) for node in stated)
    # Equal constants are exported as one: those of a norm that was never trained are Identities of each other.
    equal = {node.output[0]: node.input[0] for node in model.graph.node if node.op_type == "Identity"}
    readers: dict[str, list[NodeProto]] = {}
    for node in model.graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    found = {}
    for node in model.graph.node:
        following = readers.get(node.output[0], [])
        if node.op_type not in CONVOLUTIONS or len(following) != 1:
            continue
        norm = following[0]
        names = [equal.get(name, name) for name in (*node.input[1:], *norm.input[1:])]
        if norm.op_type != "BatchNormalization" or any(name not in constants for name in names):
            continue
        if node.op_type == "ConvTranspose" and attribute(node, "group", 1) != 1:
            continue
        values = [torch.from_numpy(array_of(constants[name]).copy()) for name in names]
        weight, bias = values[0], values[1] if len(node.input) > 2 else None
        gamma, beta, mean, variance = values[-4:]
        epsilon, is_transposed = float(attribute(norm, "epsilon", 1e-5)), node.op_type == "ConvTranspose"
        parts = (weight, bias, gamma, beta, mean, variance, epsilon, _momentum(norm), is_transposed)
        found[node.name] = Pair(node, *parts, is_affine=names[-4] in parameters)
    return found


def _momentum(norm: NodeProto) -> float:
    """torch's; ONNX has the share of the old statistics, in float32, and 1 where torch has None."""
    old = float(attribute(norm, "momentum", 0.9))
    return TORCH_MOMENTUM if old == 1 else round(1 - old, 6)


class ConvBN(nn.Module):
    """What trains in place of a folded weight and bias."""

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, pair: Pair, function: Callable[..., Tensor]) -> None:
        super().__init__()
        self.weight = nn.Parameter(pair.weight)
        self.gamma, self.beta = (nn.Parameter(t, requires_grad=pair.is_affine) for t in (pair.gamma, pair.beta))
        self.bias = None if pair.bias is None else nn.Parameter(pair.bias)
        self.register_buffer("running_mean", pair.mean)
        self.register_buffer("running_var", pair.variance)
        self.epsilon, self.momentum, self.function = pair.epsilon, pair.momentum, function
        self._channel = 1 if pair.is_transposed else 0
        self.frozen = False

    def factor(self) -> Tensor:
        """gamma / sigma_running, by output channel."""
        return self.gamma * torch.rsqrt(self.running_var + self.epsilon)

    def folded_weight(self) -> Tensor:
        """The weight that the file holds, before it is rounded."""
        shape = [-1 if axis == self._channel else 1 for axis in range(self.weight.ndim)]
        return self.weight * self.factor().reshape(shape)

    def folded_bias(self) -> Tensor:
        """The bias that the file holds, before it is rounded."""
        offset = -self.running_mean if self.bias is None else self.bias - self.running_mean
        return self.beta + offset * self.factor()

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """``weight`` and ``bias`` are the folded ones as their quantizers leave them."""
        if not self.training or self.frozen:
            return self.function(x, weight, bias)
        y = self.function(x, weight)
        shape = (1, -1, *[1] * (y.ndim - 2))
        factor = self.factor().detach()
        factor = torch.where(factor.abs() < SMALLEST, torch.full_like(factor, SMALLEST), factor).reshape(shape)
        raw = y / factor
        variance, mean = torch.var_mean(raw, [0, *range(2, y.ndim)], correction=0)
        self._follow(mean.detach(), variance.detach(), y.numel() // y.shape[1])
        scale = self.gamma * torch.rsqrt(variance + self.epsilon)
        return (raw - mean.reshape(shape)) * scale.reshape(shape) + self.beta.reshape(shape)

    def _follow(self, mean: Tensor, variance: Tensor, count: int) -> None:
        with torch.no_grad():
            whole = mean if self.bias is None else mean + self.bias
            self.running_mean.lerp_(whole, self.momentum)
            self.running_var.lerp_(variance * count / max(count - 1, 1), self.momentum)
