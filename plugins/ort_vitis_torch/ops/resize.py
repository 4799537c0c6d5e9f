"""Interpolation as ONNX counts coordinates, axis by axis: each output value is a weighted sum of input values."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from .registry import Attributes, Function, integers, operator


@operator("Resize", "Upsample")
def resize(attributes: Attributes) -> Function:
    """Another size by nearest, linear or cubic interpolation."""
    if attributes.get("antialias", 0):
        raise attributes.refuse("antialias=1")
    if attributes.get("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise attributes.refuse("keep_aspect_ratio_policy")
    mode = attributes.get("mode", "nearest")
    coordinates = attributes.get("coordinate_transformation_mode", _old(attributes))
    if coordinates == "tf_crop_and_resize":
        raise attributes.refuse("tf_crop_and_resize")
    fixed = attributes.get("scales")
    listed_axes = attributes.get("axes")
    is_old = attributes.node.op_type == "Upsample" or attributes.opset < 11

    def resized(x: Tensor, *others: Tensor | None) -> Tensor:
        scales, sizes = _scales_and_sizes(others, is_old=is_old)
        axes = listed_axes if listed_axes is not None else range(x.ndim)
        for at, axis in enumerate(axes):
            size = x.shape[axis]
            if sizes is not None:
                target, scale = sizes[at], sizes[at] / size
            else:
                scale = (fixed if fixed is not None else scales)[at]  # type: ignore[index]
                target = math.floor(size * scale)
            if target != size or scale != 1:
                x = _along(x, axis, target, scale, coordinates, mode, attributes)
        return x

    return resized


def _old(attributes: Attributes) -> str:
    return "asymmetric" if attributes.node.op_type == "Upsample" or attributes.opset < 11 else "half_pixel"


def _scales_and_sizes(others: Any, *, is_old: bool) -> tuple[list[float] | None, list[int] | None]:
    if is_old:
        return (others[0].tolist() if others else None), None
    scales = others[1] if len(others) > 1 else None
    sizes = others[2] if len(others) > 2 else None
    listed = scales.tolist() if scales is not None and scales.numel() else None
    return listed, integers(sizes) if sizes is not None and sizes.numel() else None


def _along(x: Tensor, axis: int, target: int, scale: float, coordinates: str, mode: str, given: Attributes) -> Tensor:
    size = x.shape[axis]
    at = _source(torch.arange(target, dtype=torch.float64), size, target, scale, coordinates)
    if mode == "nearest":
        return x.index_select(axis, _nearest(at, given.get("nearest_mode", _nearest_default(given))).clamp(0, size - 1))
    base = at.floor()
    if mode == "cubic":
        a = given.get("cubic_coeff_a", -0.75)
        taps = [(offset, _cubic(at - base - offset, a)) for offset in (-1, 0, 1, 2)]
    else:
        taps = [(0, 1 - (at - base)), (1, at - base)]
    weights = torch.stack([weight for _, weight in taps])
    places = torch.stack([base + offset for offset, _ in taps]).long()
    if mode == "cubic" and given.get("exclude_outside", 0):
        weights = torch.where((places < 0) | (places >= size), torch.zeros_like(weights), weights)
        weights = weights / weights.sum(0)
    places = places.clamp(0, size - 1)
    shape = [-1 if dim == axis % x.ndim else 1 for dim in range(x.ndim)]
    total: Any = 0
    for place, weight in zip(places, weights.to(x.dtype), strict=True):
        total = total + x.index_select(axis, place.to(x.device)) * weight.to(x.device).reshape(shape)
    result: Tensor = total
    return result


def _source(at: Tensor, size: int, target: int, scale: float, coordinates: str) -> Tensor:
    """The place in the input of the places in the output."""
    if coordinates == "asymmetric":
        return at / scale
    if coordinates == "align_corners":
        return at * ((size - 1) / (target - 1)) if target > 1 else torch.zeros_like(at)
    if coordinates == "pytorch_half_pixel" and target == 1:
        return torch.zeros_like(at)
    if coordinates == "half_pixel_symmetric":
        adjustment = target / (size * scale)
        center = size / 2
        return center * (1 - adjustment) + (at + 0.5) / scale - 0.5
    return (at + 0.5) / scale - 0.5


def _nearest_default(given: Attributes) -> str:
    return "floor" if given.node.op_type == "Upsample" or given.opset < 11 else "round_prefer_floor"


def _nearest(at: Tensor, mode: str) -> Tensor:
    if mode == "floor":
        return at.floor().long()
    if mode == "ceil":
        return at.ceil().long()
    return (at - 0.5).ceil().long() if mode == "round_prefer_floor" else (at + 0.5).floor().long()


def _cubic(distance: Tensor, a: float) -> Tensor:
    d = distance.abs()
    near = (a + 2) * d**3 - (a + 3) * d**2 + 1
    far = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    return torch.where(d <= 1, near, torch.where(d < 2, far, torch.zeros_like(d)))
