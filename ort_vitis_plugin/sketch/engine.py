"""The C++ counters of the custom-op library, if it was built: the same integers as numpy's, many times faster."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ADD = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "float64": "f64"}
_MOST_BYTES = 136 + 20 * (1 << 17)  # all bins touched


@cache
def library() -> ctypes.CDLL | None:
    """The library with its signatures, or None where none was built or ORT_VITIS_SKETCH=numpy."""
    from ..custom_ops.library import find_library

    path = find_library()
    if path is None or os.environ.get("ORT_VITIS_SKETCH") == "numpy":
        return None
    native = ctypes.CDLL(str(path))
    try:
        new = native.ort_vitis_sketch_new
    except AttributeError:  # an older build
        return None
    new.restype = ctypes.c_int64
    number, buffer, size = ctypes.c_int64, ctypes.c_void_p, ctypes.c_size_t
    for name in (*(f"add_{kind}" for kind in _ADD.values()), "merge"):
        getattr(native, f"ort_vitis_sketch_{name}").argtypes = [number, buffer, size]
    native.ort_vitis_sketch_save.argtypes = [number, buffer, size]
    native.ort_vitis_sketch_save.restype = ctypes.c_int64
    native.ort_vitis_sketch_non_finite.argtypes = [number, buffer]
    for name in ("free", "clear"):
        getattr(native, f"ort_vitis_sketch_{name}").argtypes = [number]
    native.ort_vitis_sketch_free.restype = None
    return native


class Counter:
    """One sketch inside the library, known by its number; freed with this object."""

    def __init__(self, native: ctypes.CDLL) -> None:
        self._native = native
        self.number: int = native.ort_vitis_sketch_new()
        self._check(self.number)

    def add(self, values: NDArray[Any]) -> None:
        """Count a contiguous array of native float16, bfloat16, float32 or float64."""
        add = getattr(self._native, f"ort_vitis_sketch_add_{_ADD[values.dtype.name]}")
        self._check(add(self.number, values.ctypes.data, values.size))

    def non_finite(self) -> tuple[int, int]:
        """Number of NaN and Inf values."""
        counts = (ctypes.c_uint64 * 2)()
        self._check(self._native.ort_vitis_sketch_non_finite(self.number, counts))
        return counts[0], counts[1]

    def take(self) -> bytes:
        """The bytes of all that was counted since the last time."""
        data = np.empty(_MOST_BYTES, np.uint8)
        size = self._check(self._native.ort_vitis_sketch_save(self.number, data.ctypes.data, data.size))
        self._check(self._native.ort_vitis_sketch_clear(self.number))
        return data[:size].tobytes()

    def _check(self, result: int) -> int:
        if result <= 0:
            raise MemoryError(f"the calibration sketch {self.number} could not grow (code {result})")
        return result

    def __del__(self) -> None:
        if getattr(self, "number", 0) > 0:
            self._native.ort_vitis_sketch_free(self.number)


def new_counter() -> Counter | None:
    """A counter of the library, or None without one."""
    native = library()
    return Counter(native) if native else None
