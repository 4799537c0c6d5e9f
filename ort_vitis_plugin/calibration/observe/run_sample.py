"""One sample through a session: its tensors are read where onnxruntime has them, and freed one by one."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import ctypes
import math
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import onnxruntime as ort
from onnx import TensorProto

from ...errors import CalibrationError, QuantizationError
from ...foreign import callers_code, is_out_of_memory, translated
from .observation import FLOATS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from .observation import Feed
    from .observed_model import Probe

_BFLOAT16 = TensorProto.BFLOAT16


def numbered(feeds: Iterable[Feed], index: int) -> Iterator[Feed]:
    """The feeds; what their source raises names the sample."""
    source = iter(feeds)
    while True:
        try:
            with callers_code(f"the calibration data reader at sample {index}"):
                feed = next(source)
        except StopIteration:
            return
        yield feed
        index += 1


def values_of(
    session: ort.InferenceSession, probe: Probe, feed: Feed, index: int
) -> Iterator[tuple[str, NDArray[Any]]]:
    """The observed tensors of one sample; each fetched one is freed before the next. Then what channels give."""
    for name in probe.fed:
        if name in feed:
            yield name, np.asarray(feed[name])
    names = [*probe.fetched, *probe.energy_outputs]
    values = outputs_of(session, names or [session.get_outputs()[0].name], feed, index)
    values.reverse()
    for name in names:
        value = values.pop()
        yield name, to_numpy(value)


def outputs_of(session: ort.InferenceSession, names: list[str], feed: Feed, index: int) -> list[Any]:
    """What the session gives for one sample; an error names its number.

    Raises:
        CalibrationError: the model cannot be run on the sample.
    """
    plain = all(isinstance(value, np.ndarray) and value.dtype.kind not in "OSU" for value in feed.values())
    try:
        if plain:
            feeds = {name: _to_ort(value) for name, value in feed.items()}
            return list(session.run_with_ort_values(names, feeds))
        return list(session.run(names, dict(feed)))  # strings and sequences
    except QuantizationError:
        raise
    except Exception as error:
        if is_out_of_memory(error):
            raise translated(error, f"calibration sample {index}") from error
        raise CalibrationError(f"the model cannot be run on calibration sample {index}: {error}") from error


def _to_ort(array: NDArray[Any]) -> ort.OrtValue:
    if array.dtype == ml_dtypes.bfloat16:
        return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(array.view(np.uint16), _BFLOAT16)
    return ort.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array))


def to_numpy(value: ort.OrtValue | NDArray[Any]) -> NDArray[Any]:
    """The values where ORT has them, without a copy; valid as long as ``value``."""
    if isinstance(value, np.ndarray):
        return value
    if value.device_name().lower() != "cpu" or value.data_type() not in FLOATS:
        return np.asarray(value.numpy())
    shape, dtype = value.shape(), FLOATS[value.data_type()]
    if 0 in shape:
        return np.zeros(shape, dtype)
    buffer = (ctypes.c_char * (math.prod(shape) * dtype.itemsize)).from_address(value.data_ptr())
    return np.frombuffer(buffer, dtype).reshape(shape)


def copy_of(value: ort.OrtValue | NDArray[Any]) -> NDArray[Any]:
    """The values of a small result, whose view would cost more than its copy."""
    return value if isinstance(value, np.ndarray) else np.asarray(value.numpy())
