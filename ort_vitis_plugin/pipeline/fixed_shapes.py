"""A device wants sizes that are known beforehand: inputs get fixed ones, and every size that follows is inferred."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import onnx
from onnx import ModelProto
from onnxruntime.tools.onnx_model_utils import make_dim_param_fixed

from ..errors import ModelError, OptionError, OptionTypeError, UnknownNameError, suggest
from ..onnx_io.external_weights import weights_as_inputs
from .optimize import infer_shapes

if TYPE_CHECKING:
    from onnx import ValueInfoProto

Sizes = Mapping[str, int | Sequence[int]]


def fix_shapes(model: ModelProto, sizes: Sizes) -> ModelProto:
    """A copy of the model with fixed sizes, and with the shapes that follow from them.

    ``sizes`` maps an input to its whole shape, or the name of a dimension to its size wherever it occurs. What depends
    on data (NonZero, the number of boxes) stays open.

    Raises:
        UnknownNameError: the model has no such input or open dimension.
        OptionError: a size is no positive whole number, or contradicts one that is fixed.
        ModelError: the model does not take these sizes.
    """
    fixed = ModelProto()
    fixed.CopyFrom(model)
    inputs = _inputs(fixed)
    dims: dict[str, int] = {}
    for name, given in sizes.items():
        if isinstance(given, (list, tuple)):
            _fix_input(inputs, name, [_size(name, each) for each in given], dims)
        else:
            _set(dims, _dimension(_inputs(model), name), _size(name, given), f"{name}={given}")
    for name, size in dims.items():
        make_dim_param_fixed(fixed.graph, name, size)
    if open_inputs(fixed) == open_inputs(model):
        return fixed
    _open_what_follows(fixed)
    _check(model, fixed, sizes)
    return infer_shapes(fixed)


def open_inputs(model: ModelProto) -> dict[str, list[int | str | None]]:
    """{input: shape} of the inputs that have a size which is not fixed; None is one without a name."""
    shapes = {name: _shape(value) for name, value in _inputs(model).items()}
    return {name: shape for name, shape in shapes.items() if any(not isinstance(dim, int) for dim in shape)}


def _inputs(model: ModelProto) -> dict[str, ValueInfoProto]:
    constants = {tensor.name for tensor in model.graph.initializer}
    return {value.name: value for value in model.graph.input if value.name not in constants}


def _shape(value: ValueInfoProto) -> list[int | str | None]:
    dims = value.type.tensor_type.shape.dim
    return [dim.dim_value if dim.dim_value > 0 else dim.dim_param or None for dim in dims]


def _dimension(inputs: Mapping[str, ValueInfoProto], name: str) -> str:
    known = dict.fromkeys(dim for value in inputs.values() for dim in _shape(value) if isinstance(dim, str))
    if name in known:
        return name
    shapes = "; ".join(f"{key} {_written(_shape(value))}" for key, value in inputs.items())
    if name in inputs:
        example = f"{name}={_example(inputs[name])}"
        raise OptionTypeError(f"FixShapes: {name} is an input; give its whole shape, like {example}")
    raise UnknownNameError(
        f"FixShapes: the model's inputs have no open dimension {name!r} ({shapes}){suggest(name, [*known, *inputs])}"
    )


def _fix_input(inputs: Mapping[str, ValueInfoProto], name: str, shape: list[int], dims: dict[str, int]) -> None:
    if name not in inputs:
        known = ", ".join(inputs)
        raise UnknownNameError(f"FixShapes: the model has no input {name!r} ({known}){suggest(name, inputs)}")
    declared = inputs[name].type.tensor_type
    text = f"{name}={','.join(map(str, shape))}"
    if not declared.HasField("shape"):
        for size in shape:
            declared.shape.dim.add().dim_value = size
        return
    was = _shape(inputs[name])
    if len(was) != len(shape):
        raise OptionError(f"FixShapes: {text} has {len(shape)} sizes, but the input has {len(was)}: {_written(was)}")
    for axis, (dim, size) in enumerate(zip(was, shape, strict=True)):
        if isinstance(dim, int) and dim != size:
            raise OptionError(f"FixShapes: {text} says {size} on axis {axis}, but the model has {_written(was)}")
        if isinstance(dim, str):
            _set(dims, dim, size, text)
        declared.shape.dim[axis].dim_value = size


def _set(dims: dict[str, int], name: str, size: int, text: str) -> None:
    if dims.setdefault(name, size) != size:
        raise OptionError(f"FixShapes: {text} makes the dimension {name} {size}, which is {dims[name]} elsewhere")


def _size(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise OptionError(f"FixShapes: a size is a whole number from 1 on, not {value!r} ({name})")
    return value


def _written(shape: Sequence[int | str | None]) -> str:
    return f"[{', '.join('?' if dim is None else str(dim) for dim in shape)}]"


def _example(value: ValueInfoProto) -> str:
    return ",".join(str(dim) if isinstance(dim, int) else "1" for dim in _shape(value))


def _open_what_follows(model: ModelProto) -> None:
    """Sizes that were open before are inferred anew: formulas over the old names would stand in the way."""
    for value in (*model.graph.value_info, *model.graph.output):
        if any(not isinstance(dim, int) for dim in _shape(value)):
            for dim in value.type.tensor_type.shape.dim:
                if dim.dim_value < 1:
                    dim.Clear()


def _check(model: ModelProto, fixed: ModelProto, sizes: Sizes) -> None:
    """A model whose shapes agree before, and not with these sizes, does not take them."""
    error = _disagreement(fixed)
    if error is not None and _disagreement(model) is None:
        given = ", ".join(
            f"{name}={','.join(map(str, size)) if isinstance(size, (list, tuple)) else size}"
            for name, size in sizes.items()
        )
        raise ModelError(f"the model does not take {given}: {error}")


def _disagreement(model: ModelProto) -> str | None:
    try:
        onnx.shape_inference.infer_shapes(weights_as_inputs(model), strict_mode=True, data_prop=True)
    except onnx.shape_inference.InferenceError as error:
        return str(error)
    return None
