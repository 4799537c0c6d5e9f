"""Two things are settled on the model as a whole: local functions are inlined, and old opsets raised."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from onnx import ModelProto, NodeProto, helper, inliner, numpy_helper, version_converter

from ort_vitis_plugin.api import ModelError, attribute

# Quantized models need 10 (QuantizeLinear); from 11 on, optional inputs of Clip and Pad, axes and Resize are today's.
MINIMUM_OPSET, PREFERRED_OPSET = 10, 11


def default_opset(model: ModelProto) -> int:
    """Version of the default operator set; a model that states none has version 1."""
    return next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 1)


def inline_functions(model: ModelProto) -> ModelProto:
    """Put the bodies of model-local functions in place of the nodes that call them."""
    if not model.functions:
        return model
    try:
        return inliner.inline_local_functions(model)
    except Exception as error:
        names = ", ".join(sorted({function.name for function in model.functions}))
        raise ModelError(f"the local functions {names} cannot be inlined: {error}") from error
