"""A model comes from a path or from memory, is checked, and is never changed."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx import ModelProto
from onnx.external_data_helper import load_external_data_for_model

from ..errors import ModelError, ModelNotFoundError, OptionTypeError
from . import external_weights
from .sessions import give_back
from .tensor_checks import check_expansion, check_tensors, check_utf8

QUANTIZED_OPS = frozenset(
    {"QuantizeLinear", "DequantizeLinear", "FixNeuron", "VitisQuantizeLinear", "VitisDequantizeLinear"}
    | {"ExtendedQuantizeLinear", "ExtendedDequantizeLinear", "QLinearConv", "QLinearMatMul", "ConvInteger"}
    | {"MatMulInteger", "QLinearAdd", "QGemm", "QLinearMul", "DynamicQuantizeLinear"}
    | {"BFPFixNeuron", "BFPQuantizeDequantize", "MXFixNeuron", "MXQuantizeDequantize"}
)


def load_aside(source: object) -> ModelProto:
    """The model in a message of its own, its large weights beside it."""
    if isinstance(source, ModelProto):
        return external_weights.externalize(_checked(_not_empty(source)))
    model = external_weights.externalize(load_model(source))
    give_back(external_weights.size(model))  # the message as it was read
    return model


def _not_empty(model: ModelProto) -> ModelProto:
    if not model.graph.node and not model.graph.output:
        raise ModelError("the model is an empty ModelProto: it has neither nodes nor outputs")
    return model


def load_model(source: object, *, data: bool = True) -> ModelProto:
    """The model in a message of its own, with all its data unless ``data`` is False.

    Raises:
        ModelNotFoundError: the file or its external data does not exist.
        ModelError: it is no ONNX file, or cannot be read.
        OptionTypeError: it is neither a path nor a model.
    """
    if isinstance(source, ModelProto):
        copy = ModelProto()
        copy.CopyFrom(_checked(_not_empty(source)))
        return copy
    if not isinstance(source, (str, Path)):
        raise OptionTypeError(f"model_input takes a path or a ModelProto, not {type(source).__name__}")
    path = Path(source)
    try:
        is_file, is_folder = os.path.isfile(path), os.path.isdir(path)
        if os.path.exists(path) and not is_file and not is_folder:
            raise ModelNotFoundError(f"the model {str(path)!r} is no regular file; give the path of an .onnx file")
    except ValueError as error:
        raise ModelNotFoundError(f"the model {str(source)!a} is no path of a file: {error}") from error
    if not is_file:
        what = "is a folder" if is_folder else "does not exist"
        raise ModelNotFoundError(f"the model {str(path)!a} {what}; give the path of an .onnx file")
    try:
        model = onnx.load(str(path), load_external_data=False)
        check_utf8(model)
    except (DecodeError, ValueError, UnicodeDecodeError) as error:
        raise ModelError(f"{str(path)!r} is not an ONNX model: {error}") from error
    except OSError as error:
        raise ModelNotFoundError(f"the model {str(path)!r} cannot be read: {error}") from error
    if not model.opset_import and not model.graph.node:
        raise ModelError(f"{str(path)!r} is not an ONNX model: it holds neither nodes nor an opset")
    if not data:
        return model
    try:
        load_external_data_for_model(model, str(path.parent))
    except (OSError, ValueError, TypeError, KeyError, onnx.checker.ValidationError) as error:
        raise ModelNotFoundError(
            f"the external data of {str(path)!r} cannot be read: {error}; keep the data file beside the model"
        ) from error
    return _checked(model)


def _checked(model: ModelProto) -> ModelProto:
    check_utf8(model)
    check_tensors(model)
    check_expansion(model)
    return model
