"""One caller's samples serve a model before and after its conversion: to float32, to channels last."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto

from ..errors import CalibrationError

Feed = dict[str, NDArray[Any]]

CHANNELS_LAST = "ort_vitis_plugin.channels_last"  # metadata of a model: its inputs that were converted, one a line
KEPT, TO_LAST, TO_FIRST = (0, 1, 2, 3), (0, 2, 3, 1), (0, 3, 1, 2)
_FLOATS: dict[int, np.dtype[Any]] = {TensorProto.FLOAT: np.dtype(np.float32), TensorProto.FLOAT16: np.dtype(np.float16)}


def channels_last(model: ModelProto) -> set[str]:
    """Inputs that were converted to channels last, as the conversion wrote into the model."""
    return {name for entry in model.metadata_props if entry.key == CHANNELS_LAST for name in entry.value.split("\n")}


def adapt_feed(model: ModelProto, feed: Feed) -> Feed:
    """A sample as ``model`` takes it: float32 for float16 and back, channels first for channels last and back.

    Where a shape fits either way (3x3x3), it is channels first, as the model was before its conversion.
    """
    adapted = dict(feed)
    converted = channels_last(model)
    for value in model.graph.input:
        array = adapted.get(value.name)
        if not isinstance(array, np.ndarray) or not value.type.HasField("tensor_type"):
            continue
        wanted: np.dtype[Any] | None = _FLOATS.get(value.type.tensor_type.elem_type)
        if wanted is not None and array.dtype in _FLOATS.values() and array.dtype != wanted:
            array = array.astype(wanted)
        dims = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        if array.ndim == 4 == len(dims):
            orders = [KEPT, TO_LAST, TO_FIRST] if value.name not in converted else [TO_LAST, KEPT]
            order = next((order for order in orders if _fits([array.shape[axis] for axis in order], dims)), KEPT)
            array = array if order == KEPT else np.ascontiguousarray(np.transpose(array, order))
        adapted[value.name] = array
    return adapted


def _fits(sizes: Sequence[int], dims: Sequence[int]) -> bool:
    """Whether all but the batch are as declared; 0 and below are unknown."""
    return all(dim in (size, 0) or dim < 0 for size, dim in zip(sizes[1:], dims[1:], strict=True))


def copied(feed: Mapping[str, Any]) -> Feed:
    """A sample of its own: many readers fill the same arrays again.

    Raises:
        CalibrationError: a value cannot be copied.
    """
    return {name: _copy(name, value) for name, value in feed.items()}


def _copy(name: str, value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy()
    try:
        return deepcopy(value)
    except Exception as error:  # whatever the value's own code raises
        raise CalibrationError(
            f"the reader feeds {name} as {type(value).__name__}, which cannot be copied ({error}); give a numpy array"
        ) from error


def adapter_to(model: ModelProto) -> Callable[[Feed], Feed]:
    """``adapt_feed`` to that model, of which only the inputs are kept: workers get it with every part."""
    return partial(adapt_feed, interface(model))


def interface(model: ModelProto) -> ModelProto:
    """Of a model only what ``adapt_feed`` asks for."""
    bare = ModelProto()
    bare.metadata_props.extend(model.metadata_props)
    bare.graph.input.extend(model.graph.input)
    return bare
