"""A model comes from a path or from memory, is checked, and is never changed."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import onnx
from google.protobuf.message import DecodeError
from onnx import ModelProto
from onnx.external_data_helper import load_external_data_for_model

from ..errors import ModelError, ModelNotFoundError, OptionTypeError, OutputError
from . import external_weights
from .sessions import give_back

if TYPE_CHECKING:
    from ..options.request import Request

QUANTIZED_OPS = frozenset(
    {"QuantizeLinear", "DequantizeLinear", "FixNeuron", "VitisQuantizeLinear", "VitisDequantizeLinear"}
    | {"ExtendedQuantizeLinear", "ExtendedDequantizeLinear", "QLinearConv", "QLinearMatMul", "ConvInteger"}
    | {"MatMulInteger", "QLinearAdd", "QGemm", "QLinearMul", "DynamicQuantizeLinear", "BFPFixNeuron"}
)


def load_aside(source: object) -> ModelProto:
    """The model in a message of its own, its large weights beside it."""
    if isinstance(source, ModelProto):
        return external_weights.externalize(_not_empty(source))
    model = external_weights.externalize(load_model(source))
    give_back()  # the message as it was read
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
        copy.CopyFrom(_not_empty(source))
        return copy
    if not isinstance(source, (str, Path)):
        raise OptionTypeError(f"model_input takes a path or a ModelProto, not {type(source).__name__}")
    path = Path(source)
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise ModelNotFoundError(f"the model {str(path)!r} {what}; give the path of an .onnx file")
    try:
        model = onnx.load(str(path), load_external_data=False)
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
    except (OSError, ValueError, onnx.checker.ValidationError) as error:
        raise ModelNotFoundError(
            f"the external data of {str(path)!r} cannot be read: {error}; keep the data file beside the model"
        ) from error
    return model


def check_output(request: Request) -> Path | None:
    """The output path, once it is certain that its folder can take a file.

    Raises:
        ModelNotFoundError: the folder does not exist.
        OutputError: it cannot be written, or is the input.
    """
    if request.output is None:
        return None
    path = Path(request.output)
    folder = path.parent
    if not folder.is_dir():
        raise ModelNotFoundError(f"the folder {str(folder)!r} of the output does not exist; create it first")
    if path.is_dir():
        raise OutputError(f"the output {str(path)!r} is a folder; give a file name")
    source = Path(request.model) if isinstance(request.model, (str, Path)) else None
    if source is not None and source.exists() and path.exists() and path.samefile(source):
        raise OutputError(f"the output {str(path)!r} is the input itself, which is never overwritten; choose another")
    import os

    if not os.access(folder, os.W_OK):
        raise OutputError(f"the folder {str(folder)!r} of the output is read-only")
    return path
