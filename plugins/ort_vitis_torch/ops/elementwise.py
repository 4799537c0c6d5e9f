"""Functions of single values, and of pairs that broadcast against each other."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from .registry import Attributes, Function, dtype_of, operator

_UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "Abs": torch.abs,
    "Acos": torch.acos,
    "Acosh": torch.acosh,
    "Asin": torch.asin,
    "Asinh": torch.asinh,
    "Atan": torch.atan,
    "Atanh": torch.atanh,
    "Ceil": torch.ceil,
    "Cos": torch.cos,
    "Cosh": torch.cosh,
    "Erf": torch.erf,
    "Exp": torch.exp,
    "Floor": torch.floor,
    "HardSwish": functional.hardswish,
    "Identity": lambda x: x,
    "IsNaN": torch.isnan,
    "Log": torch.log,
    "Mish": functional.mish,
    "Neg": torch.neg,
    "Not": torch.logical_not,
    "Reciprocal": torch.reciprocal,
    "Relu": torch.relu,
    "Round": torch.round,
    "Sigmoid": torch.sigmoid,
    "Sign": torch.sign,
    "Sin": torch.sin,
    "Sinh": torch.sinh,
    "Softplus": functional.softplus,
    "Softsign": functional.softsign,
    "Sqrt": torch.sqrt,
    "Tan": torch.tan,
    "Tanh": torch.tanh,
}

_BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "Add": torch.add,
    "And": torch.logical_and,
    "Equal": torch.eq,
    "Greater": torch.gt,
    "GreaterOrEqual": torch.ge,
    "Less": torch.lt,
    "LessOrEqual": torch.le,
    "Mul": torch.mul,
    "Or": torch.logical_or,
    "Sub": torch.sub,
    "Xor": torch.logical_xor,
}


@operator(*_UNARY)
def unary(attributes: Attributes) -> Function:
    """One value in, one value out."""
    return _UNARY[attributes.node.op_type]


@operator(*_BINARY)
def binary(attributes: Attributes) -> Function:
    """Two values in, one value out; shapes broadcast."""
    return _BINARY[attributes.node.op_type]


@operator("Div")
def div(attributes: Attributes) -> Function:
    """a / b; integers toward zero."""

    def divide(a: Tensor, b: Tensor) -> Tensor:
        return torch.div(a, b, rounding_mode=None if a.is_floating_point() else "trunc")

    return divide


@operator("Mod")
def mod(attributes: Attributes) -> Function:
    """The rest of a division: with fmod of the dividend's sign, else of the divisor's."""
    remainder: Function = torch.fmod if attributes.get("fmod", 0) else torch.remainder
    return remainder


@operator("Pow")
def power(attributes: Attributes) -> Function:
    """x to the power of y, in the type of x."""

    def raised(x: Tensor, y: Tensor) -> Tensor:
        return torch.pow(x, y.to(x.dtype) if x.is_floating_point() else y).to(x.dtype)

    return raised


@operator("Max", "Min", "Sum", "Mean")
def variadic(attributes: Attributes) -> Function:
    """The largest, the smallest, the sum or the mean of any number of tensors."""
    op_type = attributes.node.op_type
    pair: Callable[[Tensor, Tensor], Tensor] = {"Max": torch.maximum, "Min": torch.minimum}.get(op_type, torch.add)

    def folded(*tensors: Tensor) -> Tensor:
        result = reduce(pair, tensors)
        return result / len(tensors) if op_type == "Mean" else result

    return folded


@operator("Where")
def where(attributes: Attributes) -> Function:
    """x where the condition holds, else y."""
    return lambda condition, x, y: torch.where(condition, x, y)


@operator("IsInf")
def is_inf(attributes: Attributes) -> Function:
    """Where a value is infinite, of the signs asked for."""
    negative, positive = attributes.get("detect_negative", 1), attributes.get("detect_positive", 1)

    def found(x: Tensor) -> Tensor:
        return (torch.isneginf(x) & bool(negative)) | (torch.isposinf(x) & bool(positive))

    return found


@operator("Clip")
def clip(attributes: Attributes) -> Function:
    """Values within bounds that are attributes (before opset 11) or inputs."""
    lowest, highest = attributes.get("min"), attributes.get("max")

    def clipped(x: Tensor, low: Tensor | None = None, high: Tensor | None = None) -> Tensor:
        low_value: Any = lowest if low is None else low
        high_value: Any = highest if high is None else high
        if low_value is not None:
            x = x.clamp(min=low_value)
        return x if high_value is None else x.clamp(max=high_value)

    return clipped


@operator("LeakyRelu")
def leaky_relu(attributes: Attributes) -> Function:
    """alpha * x below 0."""
    alpha = attributes.get("alpha", 0.01)
    return lambda x: functional.leaky_relu(x, alpha)


@operator("Elu")
def elu(attributes: Attributes) -> Function:
    """alpha * (e^x - 1) below 0."""
    alpha = attributes.get("alpha", 1.0)
    return lambda x: torch.where(x < 0, alpha * torch.expm1(x.clamp(max=0)), x)


@operator("Celu")
def celu(attributes: Attributes) -> Function:
    """alpha * (e^(x / alpha) - 1) below 0."""
    alpha = attributes.get("alpha", 1.0)
    return lambda x: functional.celu(x, alpha)


@operator("Selu")
def selu(attributes: Attributes) -> Function:
    """gamma * x above 0, gamma * alpha * (e^x - 1) below."""
    alpha = attributes.get("alpha", 1.67326319217681884765625)
    gamma = attributes.get("gamma", 1.05070102214813232421875)
    return lambda x: gamma * torch.where(x > 0, x, alpha * torch.expm1(x.clamp(max=0)))


@operator("HardSigmoid")
def hard_sigmoid(attributes: Attributes) -> Function:
    """alpha * x + beta within [0, 1]."""
    alpha, beta = attributes.get("alpha", 0.2), attributes.get("beta", 0.5)
    return lambda x: (x * alpha + beta).clamp(0, 1)


@operator("ThresholdedRelu")
def thresholded_relu(attributes: Attributes) -> Function:
    """x above alpha, else 0."""
    alpha = attributes.get("alpha", 1.0)
    return lambda x: torch.where(x > alpha, x, torch.zeros_like(x))


@operator("Shrink")
def shrink(attributes: Attributes) -> Function:
    """Values nearer to 0 by a bias, and 0 within lambd."""
    bias, lambd = attributes.get("bias", 0.0), attributes.get("lambd", 0.5)

    def shrunk(x: Tensor) -> Tensor:
        return torch.where(x < -lambd, x + bias, torch.where(x > lambd, x - bias, torch.zeros_like(x)))

    return shrunk


@operator("Gelu")
def gelu(attributes: Attributes) -> Function:
    """x * Phi(x), exact or by tanh."""
    approximate = attributes.get("approximate", "none")
    return lambda x: functional.gelu(x, approximate=approximate)


@operator("Swish")
def swish(attributes: Attributes) -> Function:
    """x * sigmoid(alpha * x)."""
    alpha = attributes.get("alpha", 1.0)
    return lambda x: x * torch.sigmoid(alpha * x)


@operator("PRelu")
def prelu(attributes: Attributes) -> Function:
    """slope * x below 0."""
    return lambda x, slope: torch.where(x < 0, slope * x, x)


@operator("Cast")
def cast(attributes: Attributes) -> Function:
    """The same values in another type."""
    dtype = dtype_of(attributes.get("to"))
    return lambda x: x.to(dtype)


@operator("CastLike")
def cast_like(attributes: Attributes) -> Function:
    """The same values in the type of the second input."""
    return lambda x, like: x.to(like.dtype)


@operator("Dropout")
def dropout(attributes: Attributes) -> Function:
    """Dropout of evaluation: the identity, and a mask of ones."""
    wants_mask = len(attributes.node.output) > 1 and bool(attributes.node.output[1])

    def passed(x: Tensor, ratio: Tensor | None = None, training: Tensor | None = None) -> Any:
        return (x, torch.ones_like(x, dtype=torch.bool)) if wants_mask else x

    return passed
