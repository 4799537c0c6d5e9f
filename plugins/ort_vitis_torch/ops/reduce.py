"""One value of many: sums, norms, extremes along axes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .registry import Attributes, Function, integers, operator


def _product(x: Tensor, axes: tuple[int, ...], keep: bool) -> Tensor:
    for axis in sorted((axis % x.ndim for axis in axes), reverse=True):
        x = x.prod(axis, keepdim=keep)
    return x


def _extreme(name: str) -> Callable[[Tensor, tuple[int, ...], bool], Tensor]:
    """The largest or the smallest; of nothing, the value that loses against all others."""
    find = torch.amax if name == "max" else torch.amin

    def found(x: Tensor, axes: tuple[int, ...], keep: bool) -> Tensor:
        if x.numel():
            return find(x, axes, keep)
        if x.dtype is torch.bool:
            return x.all(axes[0], keep) if name == "min" else x.any(axes[0], keep)
        if x.is_floating_point():
            worst: float = -math.inf if name == "max" else math.inf
        else:
            limits = torch.iinfo(x.dtype)
            worst = limits.min if name == "max" else limits.max
        return torch.full_like(x.sum(axes, keep), worst, dtype=x.dtype)

    return found


def _norm(order: int) -> Callable[[Tensor, tuple[int, ...], bool], Tensor]:
    return lambda x, axes, keep: torch.linalg.vector_norm(x.float(), order, axes, keep).to(x.dtype)


_REDUCE: dict[str, Callable[[Tensor, tuple[int, ...], bool], Tensor]] = {
    "ReduceL1": _norm(1),
    "ReduceL2": _norm(2),
    "ReduceLogSum": lambda x, axes, keep: x.sum(axes, keep).log(),
    "ReduceLogSumExp": lambda x, axes, keep: torch.logsumexp(x, axes, keep),
    "ReduceMax": _extreme("max"),
    "ReduceMean": lambda x, axes, keep: x.mean(axes, keep),
    "ReduceMin": _extreme("min"),
    "ReduceProd": _product,
    "ReduceSum": lambda x, axes, keep: x.sum(axes, keep).to(x.dtype),
    "ReduceSumSquare": lambda x, axes, keep: x.square().sum(axes, keep).to(x.dtype),
}


@operator(*_REDUCE)
def reduction(attributes: Attributes) -> Function:
    """One value of many, along axes that are attributes or an input."""
    function = _REDUCE[attributes.node.op_type]
    keep, fixed = bool(attributes.get("keepdims", 1)), attributes.get("axes")
    passes = bool(attributes.get("noop_with_empty_axes", 0))

    def reduced(x: Tensor, axes: Any = None) -> Tensor:
        listed = fixed if fixed is not None else integers(axes) if axes is not None else []
        if not listed:
            if passes:
                return x
            listed = list(range(x.ndim))
        return function(x, tuple(listed), keep) if listed else x

    return reduced


@operator("ArgMax", "ArgMin")
def arg_extreme(attributes: Attributes) -> Function:
    """Where the largest or the smallest value is, the first or the last of equals."""
    axis, keep = attributes.get("axis", 0), bool(attributes.get("keepdims", 1))
    last = attributes.get("select_last_index", 0)
    find = torch.argmax if attributes.node.op_type == "ArgMax" else torch.argmin

    def found(x: Tensor) -> Tensor:
        if last:
            return x.shape[axis] - 1 - find(x.flip(axis), axis, keepdim=keep)
        return find(x, axis, keepdim=keep)

    return found


@operator("CumSum")
def cum_sum(attributes: Attributes) -> Function:
    """Sums from the start, or from the end, along an axis."""
    exclusive, reverse = attributes.get("exclusive", 0), attributes.get("reverse", 0)

    def summed(x: Tensor, axis: Tensor) -> Tensor:
        at = int(axis.item())
        y = x.flip(at) if reverse else x
        total = y.cumsum(at, dtype=y.dtype)
        total = total - y if exclusive else total
        return total.flip(at) if reverse else total

    return summed


@operator("TopK")
def top_k(attributes: Attributes) -> Function:
    """The k largest or smallest values, and where they were; equals in their order."""
    axis, largest = attributes.get("axis", -1), bool(attributes.get("largest", 1))

    def found(x: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        order = torch.sort(x, dim=axis, descending=largest, stable=True)
        count = int(k.item())
        return order.values.narrow(axis, 0, count), order.indices.narrow(axis, 0, count)

    return found
