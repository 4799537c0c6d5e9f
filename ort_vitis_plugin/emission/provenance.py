"""A quantized file says how it was made, as one JSON value among its metadata: no time, path or host is in it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from onnx import helper

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from onnx import ModelProto

KEY = "ort_vitis_plugin.provenance"
# onnxruntime's shape inference leaves it behind; it tells its quantizer what ours need not be told.
LEFT_OVER = "onnx.infer"


def record(model: ModelProto, facts: Mapping[str, Any], kept: Container[str] = ()) -> None:
    """Write the facts down and take out what steps left over; ``kept`` are keys that the caller's model had."""
    entries = {entry.key: entry.value for entry in model.metadata_props if entry.key != LEFT_OVER or LEFT_OVER in kept}
    helper.set_model_props(model, {**entries, KEY: json.dumps(facts, sort_keys=True)})


def recorded(model: ModelProto) -> dict[str, Any] | None:
    """What the file says of how it was made; None where it says nothing that can be read."""
    for entry in model.metadata_props:
        if entry.key == KEY:
            try:
                found = json.loads(entry.value)
            except ValueError:
                return None
            return found if isinstance(found, dict) else None
    return None


def forget_facts(model: ModelProto) -> None:
    """Take the facts out of a model that is no longer what they speak of."""
    for index in reversed(range(len(model.metadata_props))):
        if model.metadata_props[index].key == KEY:
            del model.metadata_props[index]
