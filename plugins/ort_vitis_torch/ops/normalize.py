"""Normalizations: values minus a mean, over a deviation."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from .registry import Attributes, Function, operator


def _by_channel(parameter: Tensor, x: Tensor) -> Tensor:
    return parameter.reshape(1, -1, *[1] * (x.ndim - 2))


@operator("BatchNormalization")
def batch_normalization(attributes: Attributes) -> Function:
    """With the stored statistics, whatever ``training_mode`` says: the executor evaluates."""
    if attributes.get("training_mode", 0) and len(attributes.node.output) > 1:
        raise attributes.refuse("training_mode=1")
    epsilon = attributes.get("epsilon", 1e-5)

    def normalized(x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        if mean.requires_grad or variance.requires_grad:  # computed from data, where torch keeps no statistics
            x = (x - _by_channel(mean, x)) * torch.rsqrt(_by_channel(variance, x) + epsilon)
            return x * _by_channel(scale, x) + _by_channel(bias, x)
        return functional.batch_norm(x, mean, variance, scale, bias, False, 0.0, epsilon)

    return normalized


@operator("InstanceNormalization")
def instance_normalization(attributes: Attributes) -> Function:
    """By sample and channel."""
    epsilon = attributes.get("epsilon", 1e-5)

    def normalized(x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
        axes = tuple(range(2, x.ndim))
        variance, mean = torch.var_mean(x, axes, correction=0, keepdim=True)
        return (x - mean) * torch.rsqrt(variance + epsilon) * _by_channel(scale, x) + _by_channel(bias, x)

    return normalized


@operator("LayerNormalization")
def layer_normalization(attributes: Attributes) -> Function:
    """Over the last axes, from `axis` on."""
    axis, epsilon = attributes.get("axis", -1), attributes.get("epsilon", 1e-5)
    outputs = len(attributes.node.output)

    def normalized(x: Tensor, scale: Tensor, bias: Tensor | None = None) -> Any:
        first = axis % x.ndim
        if outputs == 1 and scale.shape == x.shape[first:]:
            return functional.layer_norm(x, x.shape[first:], scale, bias, epsilon)
        axes = tuple(range(first, x.ndim))
        variance, mean = torch.var_mean(x, axes, correction=0, keepdim=True)
        inverse = torch.rsqrt(variance + epsilon)
        y = (x - mean) * inverse * scale
        y = y if bias is None else y + bias
        return (y, mean, inverse)[:outputs] if outputs > 1 else y

    return normalized


@operator("GroupNormalization")
def group_normalization(attributes: Attributes) -> Function:
    """By sample and group of channels; scale by channel, or by group before opset 21."""
    groups, epsilon = attributes.get("num_groups"), attributes.get("epsilon", 1e-5)

    def normalized(x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
        y = functional.group_norm(x, groups, eps=epsilon)
        if scale.numel() != x.shape[1]:
            scale, bias = (p.repeat_interleave(x.shape[1] // groups) for p in (scale, bias))
        return y * _by_channel(scale, x) + _by_channel(bias, x)

    return normalized


@operator("RMSNormalization")
def rms_normalization(attributes: Attributes) -> Function:
    """By the root of the mean square over the last axes."""
    axis, epsilon = attributes.get("axis", -1), attributes.get("epsilon", 1e-5)

    def normalized(x: Tensor, scale: Tensor) -> Tensor:
        axes = tuple(range(axis % x.ndim, x.ndim))
        return x * torch.rsqrt(x.square().mean(axes, keepdim=True) + epsilon) * scale

    return normalized


@operator("LRN")
def lrn(attributes: Attributes) -> Function:
    """By the squares of neighbouring channels."""
    size, alpha = attributes.get("size"), attributes.get("alpha", 1e-4)
    beta, bias = attributes.get("beta", 0.75), attributes.get("bias", 1.0)

    def normalized(x: Tensor) -> Tensor:
        before, after = (size - 1) // 2, size - 1 - (size - 1) // 2
        squares = functional.pad(x.square().flatten(2), (0, 0, before, after))
        total = squares.unfold(1, size, 1).sum(-1).reshape(x.shape)
        return x / (bias + alpha / size * total) ** beta

    return normalized


@operator("LpNormalization")
def lp_normalization(attributes: Attributes) -> Function:
    """By the 1-norm or the 2-norm along an axis."""
    axis, p = attributes.get("axis", -1), attributes.get("p", 2)

    def normalized(x: Tensor) -> Tensor:
        norm = torch.linalg.vector_norm(x, p, axis, keepdim=True)
        return torch.where(norm == 0, torch.zeros_like(x), x / norm)

    return normalized


@operator("MeanVarianceNormalization")
def mean_variance_normalization(attributes: Attributes) -> Function:
    """By mean and deviation over given axes."""
    axes = tuple(attributes.get("axes", [0, 2, 3]))

    def normalized(x: Tensor) -> Tensor:
        variance, mean = torch.var_mean(x, axes, correction=0, keepdim=True)
        return (x - mean) / (variance.sqrt() + 1e-9)

    return normalized


@operator("Softmax", "LogSoftmax", "Hardmax")
def softmax(attributes: Attributes) -> Function:
    """Before opset 13 over all axes from ``axis`` on, since then over that axis."""
    op_type, is_old = attributes.node.op_type, attributes.opset < 13
    axis = attributes.get("axis", 1 if is_old else -1)

    def one(x: Tensor, axis: int) -> Tensor:
        if op_type == "Hardmax":
            return functional.one_hot(x.argmax(axis), x.shape[axis]).movedim(-1, axis).to(x.dtype)
        return torch.softmax(x, axis) if op_type == "Softmax" else torch.log_softmax(x, axis)

    def normalized(x: Tensor) -> Tensor:
        if is_old:
            return one(x.flatten(axis % x.ndim), -1).reshape(x.shape)
        return one(x, axis)

    return normalized
