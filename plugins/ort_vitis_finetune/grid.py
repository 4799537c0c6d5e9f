"""A weight can be any whole multiple of its step between two limits: w = (q - zero) * step, low <= q <= high.

Steps and zero points may be one number, one per index of an axis, or one per block of an axis.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ort_vitis_plugin.api import along, dequantize, quantize

if TYPE_CHECKING:
    from numpy.typing import NDArray

CODES_OF_EIGHT_BITS = 255


@dataclass(frozen=True)
class Grid:
    """Where the values of one constant may lie.

    ``scale`` and ``zero_point`` are scalars; vectors along ``axis``; or, with ``block``, arrays of the constant's rank
    whose length along ``axis`` is the number of blocks (DequantizeLinear's ``block_size``); with blocks of 1 they have
    an entry for every element. Codes run from ``low`` to
    ``high``, both included.
    """

    scale: NDArray[np.float32]
    zero_point: NDArray[np.int64]
    low: int
    high: int
    axis: int | None = None
    block: int = 0

    @property
    def is_coarse(self) -> bool:
        """Whether there are fewer codes than those of 8 bits."""
        return self.high - self.low + 1 < CODES_OF_EIGHT_BITS

    def steps(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The step of every element of a constant of this shape."""
        return self._spread(np.asarray(self.scale, dtype=np.float64), shape)

    def zeros(self, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """The zero point of every element of a constant of this shape."""
        return self._spread(np.asarray(self.zero_point, dtype=np.int64), shape)

    def nearest(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Codes of the nearest points of the grid, as QuantizeLinear rounds."""
        return quantize(values, self.steps(values.shape), self.zeros(values.shape), (self.low, self.high))

    def values(self, codes: NDArray[np.int64]) -> NDArray[np.float32]:
        """What the codes stand for, as DequantizeLinear computes it."""
        return dequantize(codes, self.steps(codes.shape), self.zeros(codes.shape))

    def rounded(self, values: NDArray[Any]) -> NDArray[np.float32]:
        """The nearest points of the grid."""
        return self.values(self.nearest(values))

    def moved(self, positions: int) -> Grid:
        """This grid with steps 2^-positions as large."""
        scale = np.ldexp(self.scale, -positions).astype(np.float32)
        return Grid(scale, self.zero_point, self.low, self.high, self.axis, self.block)

    def covering(self, values: NDArray[Any]) -> Grid:
        """This grid, its steps doubled together until no value is clipped."""
        grid, steps = self, self.steps(values.shape)
        zeros = self.zeros(values.shape)
        codes = np.asarray(values, dtype=np.float64) / steps
        while np.any(codes > self.high - zeros + 0.5) or np.any(codes < self.low - zeros - 0.5):
            if not np.isfinite(codes).all():
                break
            codes = codes / 2
            grid = grid.moved(-1)
        return grid

    def _spread(self, array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        if self.block and self.axis is not None and array.ndim:
            array = np.repeat(array, self.block, self.axis).take(range(shape[self.axis]), self.axis)
            return np.broadcast_to(array, shape)
        return np.broadcast_to(along(array, len(shape), self.axis), shape)
