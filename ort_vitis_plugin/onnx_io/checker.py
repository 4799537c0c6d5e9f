"""onnx.checker takes a model without its large weights, and without shapes that onnxruntime infers."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from . import external_weights

if TYPE_CHECKING:
    from onnx import ModelProto


def check_model(model: ModelProto, *, types: bool = False) -> None:
    """onnx.checker, without its demand that inputs and outputs state a shape: onnxruntime infers it.

    With ``types`` the types and shapes of every node must agree too.
    """
    lean = external_weights.weights_as_inputs(model)
    tensors = [value.type.tensor_type for value in (*lean.graph.input, *lean.graph.output)]
    shapeless = [tensor for tensor in tensors if tensor.elem_type and not tensor.HasField("shape")]
    if types:
        onnx.shape_inference.infer_shapes(lean, check_type=True, strict_mode=True)
    for tensor in shapeless:
        tensor.shape.SetInParent()
    try:
        onnx.checker.check_model(lean)
    finally:
        for tensor in shapeless:
            tensor.ClearField("shape")
