"""The squared error that quantization at a position makes, of counted values and of the values themselves."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .values import as_float32, floats

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from .view import Floats, View


def binned_error(view: View, step: float, low: int, high: int) -> float:
    """W + sum n (m - q step)^2, and for the bins of several codes the error of evenly spread values."""
    scaled = view.mean / step
    error = view.n * (scaled - np.minimum(np.maximum(np.rint(scaled), low), high)) ** 2
    if max(-low, high) > 256 and np.abs(scaled).max(initial=0.0) >= 256:
        first, last = view.low / step, view.high / step
        mixed = (last - first >= 0.75) & (last > low) & (first < high)
        if mixed.any():
            first, last = first[mixed], last[mixed]
            above, below = np.maximum(last - high, 0), np.maximum(low - first, 0)
            width = last - first
            error[mixed] = view.n[mixed] * ((width - above - below) / 12 + (above**3 + below**3) / 3) / width
            return float(error.sum()) * step * step + float(view.spread[~mixed].sum())
    return float(error.sum()) * step * step + view.scatter


def squared_error_direct(
    values: NDArray[Any], positions: ArrayLike, qmin: int, qmax: int, zero_point: int = 0
) -> Floats:
    """What ``Sketch.squared_error`` gives, for any width, from the finite values themselves in float64."""
    row = as_float32(floats(values))
    low, high = qmin - zero_point, qmax - zero_point
    steps = np.ldexp(1.0, -np.asarray(positions, np.int64).reshape(-1))
    errors = np.zeros(len(steps))
    for start in range(0, row.size, 1 << 15):
        chunk = row[start : start + (1 << 15)].astype(np.float64)
        chunk = chunk[np.isfinite(chunk)]
        for at, step in enumerate(steps):
            scaled = chunk / step
            scaled -= np.clip(np.rint(scaled), low, high)
            errors[at] += float(np.square(scaled, out=scaled).sum()) * step * step
    return errors
