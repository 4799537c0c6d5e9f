"""Mutations: what a model states about itself, its opset, the shapes of its ends and of its inner tensors."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import onnx
from onnx import ModelProto, version_converter

from .rewriting import Mutation, Random, copied, inferred, opset_of


def _convert(model: ModelProto, opset: int) -> ModelProto:
    if opset == opset_of(model) or opset < 7 or model.functions:  # the converter loses functions
        return model
    try:
        converted = version_converter.convert_version(copied(model), opset)
        onnx.checker.check_model(converted, full_check=True)
    except Exception:  # the converter raises whatever its C++ code threw; what it cannot do is no mutation
        return model
    return converted


def raise_opset(model: ModelProto, random: Random) -> ModelProto:
    """A later opset, by onnx's converter."""
    return _convert(model, opset_of(model) + int(random.integers(1, 5)))


def lower_opset(model: ModelProto, random: Random) -> ModelProto:
    """An earlier opset, by onnx's converter."""
    return _convert(model, opset_of(model) - int(random.integers(1, 5)))


def describe(model: ModelProto, random: Random) -> ModelProto:
    """All inner tensors are described, some, none, or some without a shape."""
    way = int(random.integers(4))
    if way == 0:
        model = copied(model)
        del model.graph.value_info[:]
        return model
    model = inferred(model)
    kept = [value for value in model.graph.value_info if way == 1 or random.random() < 0.5]
    scratch = onnx.GraphProto()
    scratch.value_info.extend(kept)
    del model.graph.value_info[:]
    model.graph.value_info.extend(scratch.value_info)
    if way == 3:
        for value in model.graph.value_info:
            if value.type.HasField("tensor_type"):
                value.type.tensor_type.ClearField("shape")
    return model


def forget_output_shapes(model: ModelProto, random: Random) -> ModelProto:
    """Outputs state their type only, or their rank."""
    model = copied(model)
    for value in model.graph.output:
        kind = value.type.tensor_type
        if value.type.HasField("tensor_type") and kind.HasField("shape"):
            if random.integers(2):
                kind.ClearField("shape")
            else:
                for number, dim in enumerate(kind.shape.dim):
                    dim.dim_param = f"d{number}_{value.name}"
    return model


def raise_ir(model: ModelProto, random: Random) -> ModelProto:
    """A later version of the file format, and imports of domains that no node uses."""
    model = copied(model)
    model.ir_version = max(model.ir_version, int(random.integers(8, 11)))
    if not any(entry.domain == "com.microsoft" for entry in model.opset_import):
        model.opset_import.add(domain="com.microsoft", version=1)
    model.opset_import.add(domain="nobody.uses.it", version=3)
    return model


def free_batch(model: ModelProto, random: Random) -> ModelProto:
    """The first dimension of inputs and outputs is free."""
    model = copied(model)
    for value in (*model.graph.input, *model.graph.output):
        dims = value.type.tensor_type.shape.dim
        if len(dims) > 1 and dims[0].dim_value == 1:
            dims[0].dim_param = "batch"
    del model.graph.value_info[:]
    return model


MODELS: dict[str, Mutation] = {
    "describe": describe,
    "output shapes": forget_output_shapes,
    "ir": raise_ir,
}
OTHER_MODELS: dict[str, Mutation] = {"raise": raise_opset, "lower": lower_opset, "batch": free_batch}
