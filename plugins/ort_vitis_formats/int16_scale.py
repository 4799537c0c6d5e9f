"""A scale becomes the nearest M / 2^N with M an int16 and 2^N a uint16.

Source: option Int16Scale of the Vitis AI Quantizer for ONNX 1.16 manual.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ort_vitis_plugin.api import Configuration, Option, ScaleFormat, UnsupportedError

_LARGEST_M, _LARGEST_N = 32767, 15


def nearest_ratio(scale: NDArray[np.float32]) -> NDArray[np.float32]:
    """argmin |s - M 2^-N| over 1 <= M <= 32767 and 0 <= N <= 15; the smaller N where two are equally near."""
    s = np.asarray(scale, dtype=np.float64)
    powers = np.exp2(np.arange(_LARGEST_N + 1)).reshape(-1, *([1] * s.ndim))
    m = np.clip(np.rint(s * powers), 1, _LARGEST_M)
    ratios = m / powers
    best = np.argmin(np.abs(ratios - s), axis=0)
    return np.asarray(np.take_along_axis(ratios, best[None], axis=0)[0], dtype=np.float32)


def check(settings: Configuration) -> None:
    """Raise where no scale is left for the ratio."""
    if settings.method.power_of_two:
        raise UnsupportedError(
            "Int16Scale replaces float scales, but the method gives powers of two; use CalibrationMethod.MinMax"
        )


_DOC = "Replace each float scale by the nearest M / 2^N with M an int16 and 2^N a uint16."
INT16_SCALE = ScaleFormat("Int16Scale", _DOC, nearest_ratio, Option("Int16Scale", bool, False, _DOC), check)
