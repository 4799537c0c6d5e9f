"""Requests that mean the same have the same facts: options in effect by canonical keys, and no figure of a run."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..plugin.entries import full_name

if TYPE_CHECKING:
    from .call import Call

# Said by other facts, or of the machine and not of the model.
LEFT_OUT = frozenset(
    {"Preset", "Target", "EnableDPU", "Format", "Method", "InputNodes", "OutputNodes", "ActivationTypes"}
    | {"CalibrationCache", "CalibrationCachePath", "CustomOpLibraries", "ExecutionProviders", "SelfCheck"}
    | {"Attribution", "Report"}
)
UNDECIDED = "auto"
ARGUMENTS = ("per_channel", "reduce_range", "nodes_to_quantize", "nodes_to_exclude")


def facts(call: Call, version: str) -> dict[str, Any]:
    """How this call makes its file."""
    settings = call.settings.asked or call.settings
    request = settings.request
    declared = settings.catalog.options
    options = {
        key: json_value(value)
        for key, value in settings.options.items()
        if key in declared and key not in LEFT_OUT and _is_changed(value, declared[key].default)
    }
    ends = {
        key: json_value(settings.options.get(key)) for key in ("InputNodes", "OutputNodes") if settings.options.get(key)
    }
    arguments = {name: json_value(getattr(request, name)) for name in ARGUMENTS if getattr(request, name)}
    if request.op_types:
        arguments["op_types_to_quantize"] = sorted(request.op_types)
    return {
        "version": version,
        "target": settings.target.name,
        "quant_format": full_name(settings.format.key),
        "calibrate_method": full_name(settings.method.key),
        "activation_type": str(settings.activation),
        "weight_type": str(settings.weight),
        "arguments": arguments,
        "options": {**options, **ends},
        "random_samples": call.ledger.random,
        **_samples(call),
        "float_model": call.ledger.float_hash,
    }


def _is_changed(value: object, default: object) -> bool:
    """Whether an option makes the file another one; what is left to samples, and was not decided, does not."""
    return value is not default and json_value(value) not in (json_value(default), UNDECIDED)


def _samples(call: Call) -> dict[str, int]:
    """How many there were; onnxruntime's file of ranges does not say it, so neither does the call that writes one."""
    if call.statistics is None or call.call.calibration_cache_path is not None:
        return {}
    return {"samples": call.statistics.samples}


def preparation(call: Call, opset: int) -> dict[str, Any]:
    """What may make the prepared model of this call another one than that of another call."""
    found = facts(call, "")
    return {"target": found["target"], "opset": opset, **found["arguments"], **found["options"]}


def differences(made: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """What two calls have prepared otherwise, in words; empty where nothing of it is known."""
    keys = [key for key in dict.fromkeys((*made, *now)) if made.get(key) != now.get(key)]
    return ", ".join(f"{key}={made.get(key, 'default')} then and {now.get(key, 'default')} now" for key in keys if made)


def keywords(found: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments of quantize_static that the facts of a file amount to."""
    kinds = ("quant_format", "calibrate_method", "activation_type", "weight_type")
    return {
        **{kind: found[kind] for kind in kinds if kind in found},
        **found.get("arguments", {}),
        "extra_options": {"Target": found.get("target", "cpu"), **found.get("options", {})},
    }


def json_value(value: Any) -> Any:
    """The value as JSON has it: enums by their full names, sets in order."""
    if isinstance(value, Mapping):
        return {str(key): json_value(entry) for key, entry in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(json_value, value))
    if isinstance(value, (list, tuple)):
        return [json_value(entry) for entry in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return json_value(value.tolist())
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    if hasattr(value, "tensor_type"):  # a type, whichever enum names it
        return str(value.name)
    return full_name(value) if hasattr(value, "name") else str(value)
