"""Weights of fewer than 8 bits lie in 8-bit codes: their own range is kept, their container is a byte."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto

from ort_vitis_plugin.api import ErrorCurve, QuantType, Sketch, qtype, scale_of

from . import host_calls
from .slots import Slot, SlottedGraph, slotted

BYTE = 8


def limits_of(bits: int) -> tuple[int, int]:
    """The codes of a signed integer of that many bits."""
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def narrowed_slots(slots: Mapping[str, Slot], weights: Mapping[str, NDArray[Any]], bits: int) -> dict[str, Slot]:
    """The slots with weights (constants of two dimensions or more) in that many bits, at their least error."""
    narrow = dict(slots)
    for key, slot in slots.items():
        arrays = [weights[name] for name in slot.tensors if name in weights]
        if slot.is_constant and slot.factors is None and arrays and all(array.ndim > 1 for array in arrays):
            narrow[key] = _narrowed(slot, arrays, bits)
    return narrow


def _narrowed(slot: Slot, arrays: list[NDArray[Any]], bits: int) -> Slot:
    sketch = Sketch()
    for array in arrays:
        sketch.add(array)
    curve = ErrorCurve(sketch, qtype(QuantType.QInt8), limits_of(bits), True)
    position = slot.position if curve.is_zero else curve.best()
    scale, zero = np.asarray(scale_of(position), np.float32), np.zeros((), np.int64)
    return replace(slot, scale=scale, zero_point=zero, limits=limits_of(bits), axis=None)


def narrowed(
    written: host_calls.Written,
    prepared: ModelProto,
    bits: int,
    feeds: Sequence[host_calls.Feed],
    settings: host_calls.Settings,
) -> host_calls.Written:
    """The written model with weights of that many bits."""
    if bits >= BYTE:
        return written
    weights = host_calls.float_weights(prepared)
    slots = narrowed_slots(slotted(written.model, weights).slots, weights, bits)
    return host_calls.rewrite(prepared, weights, slots.values(), feeds, settings)


def quantized(
    model: ModelProto,
    feeds: Sequence[host_calls.Feed],
    settings: host_calls.Settings,
    bits: int,
    fine_tuning: Mapping[str, Any] | None = None,
) -> host_calls.Written:
    """What the ONNX flow makes of a float model whose weights have that many bits; with FastFinetune where given."""
    if bits >= BYTE:
        tuned = settings if fine_tuning is None else settings.with_options(FastFinetune=dict(fine_tuning))
        return host_calls.quantize(model, feeds, tuned)
    prepared = host_calls.prepare(model, settings)
    written = host_calls.quantize(model, feeds, settings)
    if fine_tuning is None:
        return narrowed(written, prepared, bits, feeds, settings)
    weights = host_calls.float_weights(prepared)
    slots = narrowed_slots(slotted(written.model, weights).slots, weights, bits)
    tuning = {**fine_tuning, "WeightBits": bits}
    return host_calls.rewrite(prepared, weights, slots.values(), feeds, settings, tuning)


def limited(graph: SlottedGraph, bits: int) -> SlottedGraph:
    """The graph of a model that ``narrowed`` wrote, with the weights' own ranges in place of their container's."""
    if bits >= BYTE:
        return graph
    ranks = {tensor.name: len(tensor.dims) for tensor in graph.model.graph.initializer}
    slots = {
        key: replace(slot, limits=limits_of(bits)) if _is_weight(slot, graph, ranks) else slot
        for key, slot in graph.slots.items()
    }
    return replace(graph, slots=slots)


def _is_weight(slot: Slot, graph: SlottedGraph, ranks: Mapping[str, int]) -> bool:
    names = [graph.constants[name] for name in slot.tensors if name in graph.constants]
    return slot.is_constant and slot.factors is None and bool(names) and all(ranks[name] > 1 for name in names)
