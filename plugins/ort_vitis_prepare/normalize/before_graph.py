"""What is settled on the model as a whole, before there is a graph to edit: local functions, and the opset."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from onnx import ModelProto, inliner

from ort_vitis_plugin.api import ModelError

from .raise_opset import PREFERRED_OPSET, raise_opset


def inline_functions(model: ModelProto) -> ModelProto:
    """Put the bodies of model-local functions in place of the nodes that call them."""
    if not model.functions:
        return model
    try:
        return inliner.inline_local_functions(model)
    except Exception as error:  # the inliner raises whatever its C++ code threw
        names = ", ".join(sorted({function.name for function in model.functions}))
        raise ModelError(f"the local functions {names} cannot be inlined: {error}") from error


def before_graph(model: ModelProto, needed_opset: int = PREFERRED_OPSET) -> ModelProto:
    """The model with its functions inlined, at ``needed_opset`` or later; the argument is not changed."""
    return raise_opset(inline_functions(model), needed_opset)
