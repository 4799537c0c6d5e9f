"""What is counted are float32 values: wider ones are rounded, narrower ones are float32 values already."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CalibrationError


def floats(values: NDArray[Any]) -> NDArray[Any]:
    """The array in one piece and native byte order; only floating-point arrays are taken.

    Raises:
        CalibrationError: it holds no floats.
    """
    array = np.asarray(values)
    if array.dtype.name not in ("float16", "bfloat16", "float32", "float64"):
        raise CalibrationError(f"a sketch takes float16, bfloat16, float32 or float64 values, not {array.dtype}")
    return np.ascontiguousarray(array, array.dtype.newbyteorder("=")).reshape(-1)


def as_float32(row: NDArray[Any]) -> NDArray[np.float32]:
    """The values rounded to float32; those beyond its range are infinite."""
    with np.errstate(over="ignore"):
        return row.astype(np.float32, copy=False)
