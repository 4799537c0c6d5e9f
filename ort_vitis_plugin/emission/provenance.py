"""A quantized file says how it was made, as one JSON value among its metadata: no time, path or host is in it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .metadata import entry, remove_entry, set_entry

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from onnx import ModelProto

KEY = "ort_vitis_plugin.provenance"
# onnxruntime's shape inference leaves it behind; it tells its quantizer what ours need not be told.
LEFT_OVER = "onnx.infer"


def record(model: ModelProto, facts: Mapping[str, Any], kept: Collection[str] = ()) -> None:
    """Write the facts down and take out what steps left over; ``kept`` are keys that the caller's model had."""
    set_entry(model, KEY, json.dumps(facts, sort_keys=True), without={LEFT_OVER} - {*kept})


def recorded(model: ModelProto) -> dict[str, Any] | None:
    """What the file says of how it was made; None where it says nothing that can be read."""
    try:
        found = json.loads(entry(model, KEY) or "null")
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def forget_facts(model: ModelProto) -> None:
    """Take the facts out of a model that is no longer what they speak of."""
    remove_entry(model, KEY)
