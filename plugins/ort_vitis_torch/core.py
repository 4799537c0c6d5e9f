"""The one place where this package asks the host to prepare, to calibrate, to quantize and to forecast."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto

import ort_vitis_plugin
from ort_vitis_plugin.api import Report, array_of

from .regions import Regions
from .slots import Slot

Feed = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Settings:
    """Keyword arguments of ``ort_vitis_plugin.quantize_static`` that stand for what the caller asked for."""

    arguments: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    def within(self, regions: Regions | None) -> Settings:
        """Settings that quantize those regions alone."""
        if regions is None:
            return self
        return replace(self, arguments={**self.arguments, "nodes_to_quantize": sorted(regions.nodes)})

    def with_options(self, **options: Any) -> Settings:
        return replace(self, options={**self.options, **options})

    def as_keywords(self) -> dict[str, Any]:
        return {**self.arguments, "extra_options": dict(self.options)}


@dataclass(frozen=True)
class Written:
    """A quantized model and what was done to make it."""

    model: ModelProto
    report: Report


def quantize(model: ModelProto, feeds: Sequence[Feed], settings: Settings) -> Written:
    """What ``quantize_static`` makes of a float model and samples."""
    result = ort_vitis_plugin.quantize_static(model, None, list(feeds), **settings.as_keywords())
    return Written(result.model, result.report)


def prepare(model: ModelProto, settings: Settings) -> ModelProto:
    """The float model as ``quantize_static`` prepares it, before it computes what a device computes."""
    from ort_vitis_plugin.doors import prepared

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it warns of, the call that quantizes says again
        return prepared(model, **settings.as_keywords())


def rewrite(
    prepared: ModelProto, weights: Mapping[str, NDArray[Any]], slots: Iterable[Slot], settings: Settings
) -> Written:
    """Write a prepared model anew with other weights, and with the scales and zero points of ``slots``.

    ``weights`` are values that codes of those scales have, so nothing is rounded once more.
    """
    changed = ModelProto()
    changed.CopyFrom(prepared)
    for tensor in changed.graph.initializer:
        if tensor.name in weights:
            tensor.ClearField("float_data")
            tensor.raw_data = np.ascontiguousarray(weights[tensor.name], np.float32).tobytes()
    overrides = {name: _override(slot) for slot in slots if slot.factors is None for name in slot.tensors}
    arguments = {key: value for key, value in settings.arguments.items() if key != "include_cle"}
    settings = Settings(arguments, {**settings.options, "TensorQuantOverrides": overrides, "SelfCheck": False})
    feed = [_zeros(changed)]
    return quantize(changed, feed, settings)


def _override(slot: Slot) -> list[dict[str, Any]]:
    scales, zeros = np.atleast_1d(slot.scale), np.atleast_1d(slot.zero_point)
    zeros = np.broadcast_to(zeros, scales.shape)
    listed: list[dict[str, Any]] = [{"scale": s, "zero_point": z} for s, z in zip(scales, zeros, strict=True)]
    if slot.axis is not None:
        listed[0]["axis"] = slot.axis
    return listed


def _zeros(model: ModelProto) -> Feed:
    from onnx import helper

    constants = {tensor.name for tensor in model.graph.initializer}
    feed = {}
    for value in model.graph.input:
        if value.name not in constants:
            kind = value.type.tensor_type
            shape = [dim.dim_value if dim.dim_value > 0 else 1 for dim in kind.shape.dim]
            feed[value.name] = np.zeros(shape, helper.tensor_dtype_to_np_dtype(kind.elem_type))
    return feed


def float_weights(prepared: ModelProto) -> dict[str, NDArray[np.float32]]:
    """The float constants of a prepared model by name."""
    found = {tensor.name: array_of(tensor) for tensor in prepared.graph.initializer}
    return {name: array for name, array in found.items() if array.dtype == np.float32}
