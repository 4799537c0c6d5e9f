"""Initializers that a graph also lists as inputs, as files before IR version 4 do, are inputs no more."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from onnx import ModelProto

from ort_vitis_plugin.foreign import public


@public
def remove_initializers_from_inputs(model: ModelProto) -> ModelProto:
    """The model whose inputs are only what a caller has to feed; ``model`` stays as it is.

    Runtimes may then treat the weights as constants: fold, fuse, pack.
    """
    result = ModelProto()
    result.CopyFrom(model)
    constants = {tensor.name for tensor in result.graph.initializer}
    constants |= {tensor.values.name for tensor in result.graph.sparse_initializer}
    for index in reversed(range(len(result.graph.input))):
        if result.graph.input[index].name in constants:
            del result.graph.input[index]
    result.ir_version = max(result.ir_version, 4)  # older versions want every initializer among the inputs
    return result
