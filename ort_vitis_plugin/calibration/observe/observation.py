"""What one sample brought, and what all of them did."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from ...sketch import Sketch
from ..channel_squares import Channels, ChannelSquares

Feed = Mapping[str, NDArray[Any]]
Configure = Callable[[ort.SessionOptions], None]

FLOATS = {
    "tensor(float)": np.dtype(np.float32),
    "tensor(float16)": np.dtype(np.float16),
    "tensor(bfloat16)": np.dtype(ml_dtypes.bfloat16),
    "tensor(double)": np.dtype(np.float64),
}


@dataclass(frozen=True)
class NonFinite:
    """One tensor in one sample, and how many NaN and Inf it held."""

    tensor: str
    sample: int
    nans: int
    infinities: int


@dataclass(frozen=True)
class Sample:
    """What one sample brought: its number, its non-finite values and, if asked for, sketches of this sample alone."""

    index: int
    non_finite: tuple[NonFinite, ...]
    sketches: Mapping[str, Sketch]


class Observation(dict[str, Sketch]):
    """Tensor name -> sketch over all samples, with the number of samples and what was not finite in them.

    ``energies`` holds the sums of squares of the channels that were asked for.
    """

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__((name, Sketch()) for name in names)
        self.samples = 0
        self.non_finite: list[NonFinite] = []
        self.energies: dict[Channels, ChannelSquares] = {}
