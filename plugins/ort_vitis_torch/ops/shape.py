"""Values keep what they are and change their places, or tell their shape."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .registry import Attributes, Function, dtype_of, integers, operator


@operator("Constant")
def constant(attributes: Attributes) -> Function:
    """A tensor of the graph."""
    value = attributes.get("value")
    if value is None:
        for name, dtype in (("value_float", torch.float32), ("value_int", torch.int64)):
            if (single := attributes.get(name)) is not None:
                value = torch.tensor(single, dtype=dtype)
            if (several := attributes.get(f"{name}s")) is not None:
                value = torch.tensor(several, dtype=dtype)
    if value is None:
        raise attributes.refuse("a constant that is no dense tensor of numbers")
    return lambda: value


@operator("Shape")
def shape(attributes: Attributes) -> Function:
    """The sizes of a tensor, all or some."""
    start, end = attributes.get("start", 0), attributes.get("end")
    return lambda x: torch.tensor(list(x.shape)[start:end], dtype=torch.int64)


@operator("Size")
def size(attributes: Attributes) -> Function:
    """The number of values."""
    return lambda x: torch.tensor(x.numel(), dtype=torch.int64)


@operator("Reshape")
def reshape(attributes: Attributes) -> Function:
    """Other sizes; 0 keeps one, -1 is what remains."""
    allow_zero, fixed = attributes.get("allowzero", 0), attributes.get("shape")

    def reshaped(x: Tensor, target: Tensor | None = None) -> Tensor:
        sizes = integers(target if fixed is None else fixed)
        if not allow_zero:
            sizes = [x.shape[at] if each == 0 else each for at, each in enumerate(sizes)]
        return x.reshape(sizes)

    return reshaped


@operator("Flatten")
def flatten(attributes: Attributes) -> Function:
    """A matrix, with rows up to `axis`."""
    axis = attributes.get("axis", 1)

    def flat(x: Tensor) -> Tensor:
        first = axis + x.ndim if axis < 0 else axis
        rows = 1
        for each in x.shape[:first]:
            rows *= each
        return x.reshape(rows, -1) if x.numel() else x.reshape(rows, 0)

    return flat


@operator("Squeeze")
def squeeze(attributes: Attributes) -> Function:
    """Without axes of size 1."""
    fixed = attributes.get("axes")

    def squeezed(x: Tensor, axes: Any = None) -> Tensor:
        if fixed is None and axes is None:
            return x.squeeze()
        return x.squeeze(tuple(integers(axes if fixed is None else fixed)))

    return squeezed


@operator("Unsqueeze")
def unsqueeze(attributes: Attributes) -> Function:
    """With new axes of size 1."""
    fixed = attributes.get("axes")

    def unsqueezed(x: Tensor, axes: Any = None) -> Tensor:
        listed = integers(axes if fixed is None else fixed)
        rank = x.ndim + len(listed)
        for axis in sorted(axis % rank for axis in listed):
            x = x.unsqueeze(axis)
        return x

    return unsqueezed


@operator("Transpose")
def transpose(attributes: Attributes) -> Function:
    """Axes in another order, reversed by default."""
    order = attributes.get("perm")
    return lambda x: x.permute(order if order is not None else tuple(reversed(range(x.ndim))))


@operator("Concat")
def concat(attributes: Attributes) -> Function:
    """Tensors behind each other along an axis."""
    axis = attributes.get("axis")
    return lambda *tensors: torch.cat(tensors, axis)


@operator("Split")
def split(attributes: Attributes) -> Function:
    """Parts along an axis, of sizes that are given or equal."""
    axis, fixed, count = attributes.get("axis", 0), attributes.get("split"), len(attributes.node.output)

    def parts(x: Tensor, sizes: Any = None) -> tuple[Tensor, ...]:
        if fixed is None and sizes is None:
            each = -(-x.shape[axis] // count)
            return tuple(x.split(each, axis))
        return tuple(x.split(integers(sizes if fixed is None else fixed), axis))

    return parts


@operator("Slice")
def slice_(attributes: Attributes) -> Function:
    """Every step-th value from a start to an end, by axis."""
    fixed = [attributes.get(name) for name in ("starts", "ends", "axes")]

    def sliced(x: Tensor, starts: Any = None, ends: Any = None, axes: Any = None, steps: Any = None) -> Tensor:
        first = integers(fixed[0] if starts is None else starts)
        last = integers(fixed[1] if ends is None else ends)
        listed = fixed[2] if axes is None else axes
        where = integers(listed) if listed is not None else list(range(len(first)))
        strides = integers(steps) if steps is not None else [1] * len(first)
        for axis, start, stop, step in zip(where, first, last, strides, strict=True):
            x = _sliced(x, axis, start, stop, step)
        return x

    return sliced


def _sliced(x: Tensor, axis: int, start: int, stop: int, step: int) -> Tensor:
    begin, end, step = slice(start, stop if step > 0 or stop >= -x.shape[axis] else None, step).indices(x.shape[axis])
    if step > 0:
        index = [slice(None)] * (axis % x.ndim) + [slice(begin, max(end, begin), step)]
        return x[tuple(index)]
    return x.index_select(axis, torch.arange(begin, min(end, begin), step, device=x.device))


@operator("Expand")
def expand(attributes: Attributes) -> Function:
    """Broadcast to a shape."""

    def expanded(x: Tensor, target: Tensor) -> Tensor:
        return x.expand(torch.broadcast_shapes(x.shape, tuple(integers(target))))

    return expanded


@operator("Tile")
def tile(attributes: Attributes) -> Function:
    """Repeated along each axis."""
    return lambda x, repeats: x.repeat(integers(repeats))


@operator("ConstantOfShape")
def constant_of_shape(attributes: Attributes) -> Function:
    """One value everywhere."""
    given = attributes.get("value")
    value = torch.zeros(1) if given is None else given
    return lambda target: torch.full(tuple(integers(target)), value.item(), dtype=value.dtype)


@operator("Range")
def range_(attributes: Attributes) -> Function:
    """Numbers from a start to below a limit."""

    def steps(start: Tensor, limit: Tensor, delta: Tensor) -> Tensor:
        return torch.arange(start.item(), limit.item(), delta.item(), dtype=start.dtype)

    return steps


@operator("EyeLike")
def eye_like(attributes: Attributes) -> Function:
    """Ones on a diagonal."""
    offset, to = attributes.get("k", 0), attributes.get("dtype")

    def ones(x: Tensor) -> Tensor:
        return torch.diag_embed(torch.ones(max(x.shape)), offset)[: x.shape[0], : x.shape[1]].to(
            x.dtype if to is None else dtype_of(to)
        )

    return ones


@operator("Trilu")
def trilu(attributes: Attributes) -> Function:
    """The upper or the lower triangle."""
    cut = torch.triu if attributes.get("upper", 1) else torch.tril
    return lambda x, k=None: cut(x, 0 if k is None else int(k.item()))
