"""The one place where this package asks the host to prepare, to calibrate, to quantize and to forecast."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, numpy_helper

import ort_vitis_plugin
from ort_vitis_plugin.api import AS_WRITTEN, QuantType, Report, array_of, open_session

from .errors import ConfigError
from .regions import Regions
from .slots import Slot

Feed = dict[str, NDArray[Any]]

# Nothing is measured, corrected or spared once more where scales and codes are given.
PLAIN: Mapping[str, Any] = {"SelfCheck": False, "BiasCorrection": False, "AvoidSaturation": False}


@dataclass(frozen=True)
class Settings:
    """Keyword arguments of ``ort_vitis_plugin.quantize_static`` that stand for what the caller asked for."""

    arguments: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    regions: Regions | None = None

    def within(self, regions: Regions | None) -> Settings:
        """Settings that quantize those regions alone."""
        if regions is None:
            return self
        arguments = {**self.arguments, "nodes_to_quantize": sorted(regions.nodes)}
        return replace(self, arguments=arguments, regions=regions)

    def is_on(self, switch: str) -> bool:
        """Whether the call asks for a switch."""
        return bool(self.options.get(switch, False))

    def with_options(self, **options: Any) -> Settings:
        return replace(self, options={**self.options, **options})

    def with_layers(self, model: ModelProto, layers: Sequence[Mapping[str, Any]]) -> Settings:
        """Settings with types of their own for the tensors of some layers of the graph."""
        overrides: dict[str, Any] = {}
        for layer in sorted(layers, key=lambda each: "layer_name" in each):
            overrides.update(_layer_overrides(model, layer))
        return self.with_options(TensorQuantOverrides=overrides) if overrides else self

    def as_keywords(self) -> dict[str, Any]:
        return {**self.arguments, "extra_options": dict(self.options)}


def _layer_overrides(model: ModelProto, layer: Mapping[str, Any]) -> dict[str, Any]:
    """Overrides for the weights and outputs of the nodes that an entry of layer_quantize_config names."""
    key, wanted = next((key, str(layer[key])) for key in ("layer_name", "layer_type") if key in layer)
    nodes = [node for node in model.graph.node if _is_named(node, key, wanted)]
    if not nodes:
        raise ConfigError(f"layer_quantize_config: no node of the graph has {key}={wanted!r}; names are those of ONNX")
    overall, single = layer.get("overall_quantize_config", {}), layer.get("tensor_quantize_config", {})
    constants = {tensor.name for tensor in model.graph.initializer}
    found: dict[str, Any] = {}
    for node in nodes:
        for kind, names in (("weights", node.input[1:2]), ("activation", node.output[:1])):
            bits = {**overall, **single.get(kind, {})}.get("bit_width", 8)
            for name in names:
                if bits == 16 and (kind == "activation" or name in constants):
                    found[name] = [{"quant_type": QuantType.QInt16}]
    return found


def _is_named(node: NodeProto, key: str, wanted: str) -> bool:
    if key == "layer_type":
        return bool(node.op_type == wanted)
    return wanted in (node.name, node.name.strip("/").rpartition("/")[0].replace("/", "."))


@dataclass(frozen=True)
class Written:
    """A quantized model and what was done to make it."""

    model: ModelProto
    report: Report = field(default_factory=Report)


def quantize(model: ModelProto, feeds: Sequence[Feed], settings: Settings) -> Written:
    """What ``quantize_static`` makes of a float model and samples."""
    result = ort_vitis_plugin.quantize_static(model, None, list(feeds), **settings.as_keywords())
    if settings.regions is not None:
        settings.regions.release(result.model)
    return Written(result.model, result.report)


def prepare(model: ModelProto, settings: Settings) -> ModelProto:
    """The float model as ``quantize_static`` prepares it, before it computes what a device computes."""
    from ort_vitis_plugin.api import prepared

    with quiet():  # what it warns of, the call that quantizes says again
        return prepared(model, **settings.as_keywords())


@contextmanager
def quiet() -> Iterator[None]:
    """No warnings of a call whose result is not handed over."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def rewrite(
    prepared: ModelProto,
    weights: Mapping[str, NDArray[Any]],
    slots: Iterable[Slot],
    feeds: Sequence[Feed],
    settings: Settings,
    fine_tuning: Mapping[str, Any] | None = None,
) -> Written:
    """Write a prepared model anew with other weights, and with the scales and zero points of ``slots``.

    Weights are rounded to codes by the host, as any others are. ``feeds`` only let it see every tensor once, unless
    ``fine_tuning``, a value of FastFinetune, learns from them; it keeps weights within their codes itself.
    """
    slots = list(slots)
    weights = weights if fine_tuning is not None else {**weights, **_saturated(weights, slots)}
    changed = ModelProto()
    changed.CopyFrom(prepared)
    for tensor in changed.graph.initializer:
        if tensor.name in weights:
            tensor.CopyFrom(numpy_helper.from_array(np.asarray(weights[tensor.name], np.float32), tensor.name))
    overrides = {name: _override(slot) for slot in slots if slot.factors is None for name in slot.tensors}
    arguments = {key: value for key, value in settings.arguments.items() if key != "include_cle"}
    options = {**settings.options, "TensorQuantOverrides": overrides, **PLAIN}
    settings = replace(settings, arguments=arguments, options=options)
    if fine_tuning is not None:
        return quantize(changed, feeds, settings.with_options(FastFinetune=dict(fine_tuning)))
    return quantize(changed, feeds[:1], settings)


def _saturated(weights: Mapping[str, NDArray[Any]], slots: Iterable[Slot]) -> dict[str, NDArray[Any]]:
    """Weights within the codes of their slots, which may be fewer than those of the type that stores them."""
    found = {}
    for slot in slots:
        if slot.factors is None and slot.axis is None and slot.is_constant:
            low, high = (float((limit - slot.zero_point) * slot.scale) for limit in slot.limits)
            found.update({name: np.clip(weights[name], low, high) for name in slot.tensors if name in weights})
    return found


def _override(slot: Slot) -> list[dict[str, Any]]:
    scales, zeros = np.atleast_1d(slot.scale), np.atleast_1d(slot.zero_point)
    zeros = np.broadcast_to(zeros, scales.shape)
    listed: list[dict[str, Any]] = [{"scale": s, "zero_point": z} for s, z in zip(scales, zeros, strict=True)]
    if slot.axis is not None:
        listed[0]["axis"] = slot.axis
    return listed


def float_weights(prepared: ModelProto) -> dict[str, NDArray[np.float32]]:
    """The float constants of a prepared model by name."""
    found = {tensor.name: array_of(tensor) for tensor in prepared.graph.initializer}
    return {name: array for name, array in found.items() if array.dtype == np.float32}


def run(model: ModelProto, feed: Feed) -> list[NDArray[Any]]:
    """The outputs of a model in onnxruntime, computed as written: no graph optimization."""
    outputs: list[NDArray[Any]] = open_session(model, level=AS_WRITTEN).run(None, feed)
    return outputs


def forecast(model: ModelProto, target: str) -> list[tuple[str, str, str | None]]:
    """Name and operator of every node of the prepared model, and why the device does not take it, or None."""
    from ort_vitis_plugin.api import forecast as placements

    return [(each.node, each.op_type, each.reason) for each in placements(model, target)]
