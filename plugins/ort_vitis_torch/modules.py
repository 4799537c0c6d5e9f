"""Fake quantizers for the slots of a graph, and a module that keeps the caller's own structures around it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import nn

from .executor import OnnxModule
from .exported import Exported
from .fake import TQT, FakeQuantizer, FixedPow2, FloatScale, Int32Bias
from .slots import Slot, SlottedGraph


def quantizers(slots: Mapping[str, Slot], *, trainable: bool = False) -> dict[str, nn.Module]:
    """What each slot computes. ``trainable``: steps that are powers of two are learned; others stay as they are."""
    made: dict[str, nn.Module] = {}
    for key, slot in slots.items():
        if slot.factors is None:
            made[key] = _quantizer(slot, trainable=trainable)
    for key, slot in slots.items():
        if slot.factors is not None:
            x, weight = (made[factor] for factor in slot.factors)
            assert isinstance(x, FakeQuantizer)
            assert isinstance(weight, FakeQuantizer)
            made[key] = Int32Bias(x, weight)
    return made


def _quantizer(slot: Slot, *, trainable: bool) -> FakeQuantizer:
    if slot.scale.ndim or not slot.is_power_of_two:
        return FloatScale(slot.scale, slot.zero_point, slot.limits, slot.axis)
    if trainable:
        return TQT(slot.position, int(slot.zero_point), slot.limits, slot.highest)
    return FixedPow2(slot.position, int(slot.zero_point), slot.limits)


def slot_of(slot: Slot, quantizer: nn.Module) -> Slot:
    """The slot with what its quantizer holds now."""
    if not isinstance(quantizer, FakeQuantizer):
        return slot
    scale, zero = quantizer.numbers()
    return replace(slot, scale=np.asarray(scale), zero_point=np.asarray(zero), limits=quantizer.limits)


class GraphModel(nn.Module):
    """A graph that is called like the module that it was exported from; every call may have another batch size."""

    def __init__(self, exported: Exported, graph: SlottedGraph, *, trainable: bool = False) -> None:
        super().__init__()
        self.exported = exported
        self.slots = graph.slots
        self.constants = graph.constants
        made = quantizers(graph.slots, trainable=trainable)
        self.graph = OnnxModule(graph.model, made, decoded=graph.decoded)

    def forward(self, *arguments: Any, **keywords: Any) -> Any:
        tensors = self.exported.tensors(arguments, keywords)
        floats = [tensor.dtype for tensor in tensors if tensor.is_floating_point()]
        results = self.graph(*[tensor.float() if tensor.is_floating_point() else tensor for tensor in tensors])
        if floats and floats[0] is not torch.float32:  # half a network takes halves and gives halves
            results = tuple(each.to(floats[0]) if each.is_floating_point() else each for each in results)
        return self.exported.outputs.fill(results)

    def enable(self, *, quantizers: bool) -> None:
        """Quantize, or compute in float."""
        for module in self.graph.slots.values():
            module.enabled = quantizers
