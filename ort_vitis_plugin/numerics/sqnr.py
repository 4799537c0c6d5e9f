"""How loud the error is: signal to quantization noise in decibels."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def decibels(signal: float, noise: float) -> float:
    """10 log10(signal / noise) of two energies; infinite without noise, minus infinity without signal."""
    if noise == 0:
        return math.inf
    return 10 * math.log10(signal / noise) if signal > 0 and math.isfinite(noise) else -math.inf


def sqnr_db(reference: NDArray[Any], other: NDArray[Any]) -> float:
    """10 log10(sum f^2 / sum (f - q)^2) in decibels; infinite where both agree."""
    f = np.asarray(reference, dtype=np.float64)
    noise = float(np.sum((f - np.asarray(other, dtype=np.float64)) ** 2))
    return decibels(float(np.sum(f**2)), noise)
