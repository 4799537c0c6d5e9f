"""The opset of a model is the version of ONNX's own operators, whose domain has two names."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from .nodes import DEFAULT_DOMAINS

if TYPE_CHECKING:
    from onnx import ModelProto


def default_opset(model: ModelProto, unstated: int = 1) -> int:
    """Version of the default operator set; ``unstated`` where the model imports none, which ONNX reads as 1."""
    return next((entry.version for entry in model.opset_import if entry.domain in DEFAULT_DOMAINS), unstated)
