"""A clamp that quantization replaced lives on in the model's metadata: codes cannot tell it from a calibrated range."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from .metadata import entry, remove_entry, set_entry
from .provenance import recorded

if TYPE_CHECKING:
    from onnx import ModelProto

KEY = "ort_vitis_plugin.saturation"
Limits = tuple[float | None, float | None]


def composed(first: Limits, then: Limits) -> Limits:
    """The limits of clip(clip(x, first), then); None is no limit."""
    low, high = then

    def clipped(value: float | None) -> float | None:
        if value is not None and low is not None:
            value = max(value, low)
        return value if value is None or high is None else min(value, high)

    lower, upper = clipped(first[0]), clipped(first[1])
    return low if first[0] is None else lower, high if first[1] is None else upper


def keep(model: ModelProto, limits: Mapping[str, Limits]) -> None:
    """Write down which tensors were clamped to which limits before saturation did it."""
    known = {**(kept(model) or {}), **limits}
    if not known:
        return
    set_entry(model, KEY, json.dumps(known))


def kept(model: ModelProto) -> dict[str, Limits] | None:
    """The limits by tensor; None where nothing says that this package quantized the model."""
    text = entry(model, KEY)
    if text is not None:
        return {tensor: (low, high) for tensor, (low, high) in json.loads(text).items()}
    return {} if recorded(model) is not None else None


def forget(model: ModelProto) -> None:
    """Take the entry out, once the clamps are back."""
    remove_entry(model, KEY)
