"""The bytes of a model for tests that compare two calls: a file also says how its call was spelt."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.emission.provenance import forget_facts

if TYPE_CHECKING:
    from onnx import ModelProto


def without_provenance(model: ModelProto) -> bytes:
    """The file without the facts of its call, serialized deterministically; the model itself is unchanged."""
    copy = type(model)()
    copy.CopyFrom(model)
    forget_facts(copy)
    return bytes(copy.SerializeToString(deterministic=True))
