"""The bins as floats: mean, least and greatest value of each, and how its values are spread between them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .bins import LOW_BITS, SIGN

if TYPE_CHECKING:
    from .bins import Bins

Floats = NDArray[np.float64]


class View:
    """What the questions need of the bins: floats, computed once per state of the sketch."""

    def __init__(self, bins: Bins, energy: float, minimum: float, maximum: float) -> None:
        keys, n, sums = bins.keys, bins.counts, bins.sums
        exponent = (keys >> 8) & 0xFF
        self.top = (keys & 0xFF) + np.where(exponent > 0, 256, 0)  # the mantissa without its low bits
        self.shift = np.maximum(exponent, 1) - 150  # value = sign * (top * 2^15 + low) * 2^shift
        self.sign = np.where(keys >= SIGN, -1, 1)
        self.n = n.astype(np.float64)
        self.mean = self.sign * np.ldexp((self.top << LOW_BITS) + sums / self.n, self.shift)
        scatter = energy - math.fsum(self.n * self.mean**2)
        self.scatter = scatter if scatter > energy * 2.0**-46 else 0.0  # less is rounding
        near = np.ldexp((self.top << LOW_BITS).astype(np.float64), self.shift)
        far = near + np.ldexp(1.0, self.shift + LOW_BITS)
        self.low = np.clip(np.where(self.sign > 0, near, -far), minimum, maximum)
        self.high = np.clip(np.where(self.sign > 0, far, -near), minimum, maximum)
        point = (sums == 0) | (n == 1) | (self.scatter == 0)
        self.low[point] = self.high[point] = self.mean[point]

    @cached_property
    def spread(self) -> Floats:
        """sum (x - m)^2 per bin, estimated: a third of the most that the mean allows, as for even spread."""
        spread: Floats = (self.n - 1) * (self.high - self.mean) * (self.mean - self.low) / 3
        return spread

    @cached_property
    def cumulative(self) -> tuple[Floats, Floats]:
        """Values x and how many of the data lie at or below each, linear in between."""
        order = np.argsort(self.low, kind="stable")
        after = np.cumsum(self.n[order])
        x = np.stack([self.low[order], self.high[order]], axis=1).reshape(-1)
        y = np.stack([after - self.n[order], after], axis=1).reshape(-1)
        return x, y
