"""A model-local function hides operators that can be quantized."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from onnx import ModelProto, inliner

from ort_vitis_plugin.api import ModelError, ModelTransform


def inline_functions(model: ModelProto) -> ModelProto:
    """The model with the bodies of its local functions in place of the nodes that call them.

    Raises:
        ModelError: onnx cannot inline them.
    """
    if not model.functions:
        return model
    try:
        return inliner.inline_local_functions(model)
    except Exception as error:  # the inliner raises whatever its C++ code threw
        names = ", ".join(sorted({function.name for function in model.functions}))
        raise ModelError(f"the local functions {names} cannot be inlined: {error}") from error


INLINE_FUNCTIONS = ModelTransform(
    "InlineFunctions", "Put the bodies of model-local functions in place of their calls.", inline_functions
)
