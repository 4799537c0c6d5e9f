"""Sketches of arrays, and the squared error that they are held against: of every value, in float64."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math

import numpy as np

from ort_vitis_plugin.sketch import Sketch


def sketch_of(*arrays: np.ndarray) -> Sketch:
    """One sketch of all these values."""
    sketch = Sketch()
    for array in arrays:
        sketch.add(array)
    return sketch


def exhaustive(values: np.ndarray, positions: range, qmin: int, qmax: int, zero_point: int = 0) -> np.ndarray:
    """The squared error at each position."""
    x = values.astype(np.float64)
    errors = []
    for p in positions:
        q = np.clip(np.rint(x * 2.0**p) + zero_point, qmin, qmax)
        errors.append(math.fsum((x - (q - zero_point) * 2.0**-p) ** 2))
    return np.array(errors)
