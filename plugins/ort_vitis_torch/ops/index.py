"""Values are picked, or put, by index; negative indices count from the end."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from .registry import Attributes, Function, operator


def _from_start(indices: Tensor, size: int) -> Tensor:
    return torch.where(indices < 0, indices + size, indices).long()


@operator("Gather")
def gather(attributes: Attributes) -> Function:
    """Slices along an axis, by index."""
    axis = attributes.get("axis", 0)

    def gathered(x: Tensor, indices: Tensor) -> Tensor:
        at = axis % x.ndim
        if indices.ndim == 0 and indices.device.type == "cpu":
            return x.select(at, int(indices))
        places = _from_start(indices, x.shape[at]).to(x.device)
        picked = x.index_select(at, places.reshape(-1))
        return picked.reshape((*x.shape[:at], *places.shape, *x.shape[at + 1 :]))

    return gathered


@operator("GatherElements")
def gather_elements(attributes: Attributes) -> Function:
    """An element for each index, along an axis."""
    axis = attributes.get("axis", 0)
    return lambda x, indices: x.gather(axis, _from_start(indices, x.shape[axis]))


@operator("GatherND")
def gather_nd(attributes: Attributes) -> Function:
    """Slices by tuples of indices, batch by batch where asked."""
    batch = attributes.get("batch_dims", 0)

    def gathered(x: Tensor, indices: Tensor) -> Tensor:
        if not batch:
            return x[_places(x, indices)]
        lead = x.shape[:batch]
        flat_x, flat_at = x.reshape(-1, *x.shape[batch:]), indices.reshape(-1, *indices.shape[batch:])
        rows = [each[_places(each, at)] for each, at in zip(flat_x, flat_at, strict=True)]
        return torch.stack(rows).reshape(*lead, *rows[0].shape)

    return gathered


def _places(x: Tensor, indices: Tensor) -> tuple[Tensor, ...]:
    return tuple(_from_start(at, x.shape[axis]) for axis, at in enumerate(indices.unbind(-1)))


@operator("ScatterND")
def scatter_nd(attributes: Attributes) -> Function:
    """Slices put, or combined, by tuples of indices."""
    how = attributes.get("reduction", "none")

    def scattered(x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        places = _places(x, indices)
        if how == "none":
            return x.index_put(places, updates)
        if how == "add":
            return x.index_put(places, updates, accumulate=True)
        return _one_by_one(x, places, updates, how)

    return scattered


def _one_by_one(x: Tensor, places: tuple[Tensor, ...], updates: Tensor, how: str) -> Tensor:
    combine: Any = {"mul": torch.mul, "max": torch.maximum, "min": torch.minimum}[how]
    result = x.clone()
    count = places[0].numel()
    listed = [each.reshape(-1).tolist() for each in places]
    rows = updates.reshape(count, *updates.shape[places[0].ndim :])
    for at, row in zip(zip(*listed, strict=True), rows, strict=True):
        result[at] = combine(result[at], row)
    return result


@operator("ScatterElements", "Scatter")
def scatter_elements(attributes: Attributes) -> Function:
    """Elements put, or combined, by index along an axis."""
    axis, how = attributes.get("axis", 0), attributes.get("reduction", "none")

    def scattered(x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        places = _from_start(indices, x.shape[axis])
        if how == "none":
            return x.scatter(axis, places, updates)
        named = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}[how]
        return x.scatter_reduce(axis, places, updates, named, include_self=True)

    return scattered


@operator("OneHot")
def one_hot(attributes: Attributes) -> Function:
    """A vector that is on at each index; indices out of range are off everywhere."""
    axis = attributes.get("axis", -1)

    def encoded(indices: Tensor, depth: Tensor, values: Tensor) -> Tensor:
        count = int(depth.item())
        places = torch.where(indices < 0, indices + count, indices).long()
        outside = (places < 0) | (places >= count)
        hot = functional.one_hot(places.clamp(0, count - 1), count).bool() & ~outside.unsqueeze(-1)
        return torch.where(hot, values[1], values[0]).movedim(-1, axis)

    return encoded


@operator("NonZero")
def non_zero(attributes: Attributes) -> Function:
    """The indices of values other than 0, a row for each dimension."""
    return lambda x: x.nonzero().t() if x.ndim else x.reshape(1).nonzero().t()[:0]
