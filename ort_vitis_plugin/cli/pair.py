"""A comparison takes a float model and what was made of it, in this order."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from .provenance import warn_of_stranger

if TYPE_CHECKING:
    from onnx import ModelProto


def checked_pair(model: str, quantized: str) -> tuple[ModelProto, ModelProto]:
    """Both models, loaded.

    Raises:
        ModelError: the first is quantized and the second is not.
    """
    from ort_vitis_plugin.errors import ModelError
    from ort_vitis_plugin.graph import Graph
    from ort_vitis_plugin.onnx_io.load import load_model
    from ort_vitis_plugin.pipeline.validation import is_quantized

    before, after = load_model(model), load_model(quantized)
    if is_quantized(Graph(before, copy=False)) and not is_quantized(Graph(after, copy=False)):
        raise ModelError(f"{model!r} is quantized and {quantized!r} is not; give the float model first")
    warn_of_stranger(before, after, model)
    return before, after
