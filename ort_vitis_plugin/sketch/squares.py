"""The sum of squares is added exactly over pieces of 32,768 values, each of which is folded in a fixed order."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

PIECE = 1 << 15  # values whose squares are folded into one float
LANES = 32  # partial sums of a piece, by index modulo 32, then halved until one is left


def sum_of_squares(row: NDArray[np.float32]) -> int:
    """The sum of squares in units of 2^-298, the square of the least float32; each piece is folded in a fixed order."""
    total = 0
    for start in range(0, row.size, PIECE):
        piece = row[start : start + PIECE]
        lanes = np.zeros((-(-piece.size // LANES), LANES))
        lanes.reshape(-1)[: piece.size] = piece
        fold = np.add.reduce(lanes * lanes, axis=0)
        while len(fold) > 1:
            fold = fold[: len(fold) // 2] + fold[len(fold) // 2 :]
        mantissa, exponent = math.frexp(fold[0])
        total += int(mantissa * 2**53) << (exponent + 245) if exponent >= -245 else int(math.ldexp(fold[0], 298))
    return total
