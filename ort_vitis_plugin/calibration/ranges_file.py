"""Ranges of onnxruntime's methods in the JSON file that its calibration_cache_path names, read and written in its form.

    {"CLS": "TensorsData", "calibration_method": {...}, "smooth_quant": false,
     "data": {tensor: {"CLS": "TensorData", "lowest": array, "highest": array, "hist": array, "hist_edges": array}}}

A range stands as the file states it, whoever wrote it. The histogram is optional and no range comes from it: it tells
masks from data (see not_data), for which the one written here has edges where that question is asked. What
onnxruntime's form has no place for lies beside it under our own key, which onnxruntime skips.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import itertools
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from onnxruntime.quantization import CalibrationMethod

from ..errors import CalibrationError
from ..onnx_io.whole_file import as_output_error, write_text
from ..sketch import Sketch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import DTypeLike, NDArray

OUR_KEY = "ort_vitis_plugin"
_ANEW = "delete it to calibrate anew, or name another file"
_EVEN = 257  # values that stand for a tensor of which only the range is known: no gap in them tells of a mask

Range = tuple[float, float]


@dataclass(frozen=True)
class StoredRange:
    """The range of one tensor, and a sketch of the same extremes and gaps as that of its values."""

    limits: Range
    sketch: Sketch


def keeps_ranges_of(method: object) -> TypeGuard[CalibrationMethod]:
    """Whether the file has a place for a method's ranges: for those of onnxruntime's own."""
    return isinstance(method, CalibrationMethod)


def read_ranges(path: Path, method: CalibrationMethod) -> dict[str, StoredRange]:
    """Ranges by tensor; raise unless the file holds some of that method."""
    if not path.is_file():
        raise CalibrationError(f"calibration_cache_path {path} is not a file; name one")
    try:
        payload = json.loads(path.read_text(encoding="utf-8"))
        made = CalibrationMethod[str(payload["calibration_method"]["value"]).rpartition(".")[2]]
        smooth = bool(payload.get("smooth_quant", False))
        infinite = set(payload.get(OUR_KEY, {}).get("infinite", ()))
        entries = {name: _entry(entry, infinite=name in infinite) for name, entry in payload["data"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        what = f"{type(error).__name__}: {error}"
        raise CalibrationError(f"{path} is not a calibration cache of onnxruntime ({what}); {_ANEW}") from error
    if made is not method:
        raise CalibrationError(
            f"{path} was made with {made}, but calibrate_method is {method}; {_ANEW}, or ask for {made}"
        )
    if smooth:
        raise CalibrationError(f"{path} was made with SmoothQuant, which is onnxruntime's alone; {_ANEW}")
    for name, entry in entries.items():
        low, high = entry.limits
        if not -math.inf < low <= high < math.inf:
            raise CalibrationError(f"{path}: the range of {name} is [{low:g}, {high:g}]; {_ANEW}")
    return entries


def check_stored_names(path: Path, stored: Mapping[str, StoredRange], wanted: list[str]) -> None:
    """Raise unless every wanted tensor has a range."""
    if missing := [name for name in wanted if name not in stored]:
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise CalibrationError(
            f"{path} has no range of the tensor {', '.join(missing[:5])}{more}: it was made of another model, of one "
            f"prepared in another way, or for fewer op types; {_ANEW}"
        )


def write_ranges(
    path: Path,
    method: CalibrationMethod,
    ranges: Mapping[str, tuple[Range, DTypeLike]],
    sketches: Mapping[str, Sketch],
) -> None:
    """One file, whole or not at all; each range in the float type of its tensor.

    Raises:
        OutputError: it cannot be written.
    """
    payload = {
        "CLS": "TensorsData",
        "data": {name: dict(_fields(method, sketches[name], *ranges[name])) for name in ranges},
        "calibration_method": {"CLS": "CalibrationMethod", "value": str(method)},
        "smooth_quant": False,
        OUR_KEY: {"infinite": [name for name in ranges if sketches[name].inf_count]},
    }
    with as_output_error(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(payload))


def _fields(method: CalibrationMethod, sketch: Sketch, limits: Range, dtype: DTypeLike) -> Iterator[tuple[str, Any]]:
    yield "CLS", "TensorData"
    yield "lowest", _array(np.asarray(limits[0], dtype))
    yield "highest", _array(np.asarray(limits[1], dtype))
    if not sketch.count or sketch.minimum < sketch.maximum:
        counts, edges = _histogram(sketch)
        yield "hist", _array(counts)
        yield "hist_edges", _array(edges.astype(np.float32))
    if method is CalibrationMethod.Distribution:
        yield "avg", _array(np.asarray(sketch.mean, np.float32))
        yield "std", _array(np.asarray(sketch.deviation, np.float32))


def _histogram(sketch: Sketch) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Counts between the extremes, their tenths and halves, and 0; a value on an edge counts on both sides."""
    if not sketch.count:
        return np.zeros(0, np.int64), np.zeros(0)
    low, high = sketch.minimum, sketch.maximum
    inner = [end * part for end in (low, high) for part in (0.5, 0.1, 0.0) if low < end * part < high]
    edges = np.unique([low, *inner, high])
    counts = [int(sketch.histogram(1, (left, right))[0][0]) for left, right in itertools.pairwise(edges)]
    return np.asarray(counts, np.int64), edges


def _array(values: NDArray[Any]) -> dict[str, Any]:
    return {"data": values.tolist(), "dtype": str(values.dtype), "CLS": "numpy.array"}


def _entry(entry: Mapping[str, Any], *, infinite: bool) -> StoredRange:
    low, high = (_values(entry[key]) for key in ("lowest", "highest"))
    limits = float(low.min()), float(high.max())
    sketch = Sketch()
    counts, edges = (_values(entry.get(key, [])) for key in ("hist", "hist_edges" if "hist_edges" in entry else "bins"))
    if "hist" in entry and not counts.size:
        values = counts
    elif edges.size == counts.size + 1 and edges.size > 1:
        middles = (edges[:-1] + edges[1:])[counts > 0] / 2
        values = np.concatenate([edges[:1], middles, edges[-1:]])
    else:
        values = np.linspace(*limits, _EVEN)
    sketch.add(np.append(values, np.inf if infinite else []).astype(np.float32))
    return StoredRange(limits, sketch)


def _values(stored: Any) -> NDArray[np.float64]:
    """A number, a list, or the JSON form of an array."""
    if isinstance(stored, dict):
        stored = stored["data"]
    return np.asarray(stored, np.float64).reshape(-1)
