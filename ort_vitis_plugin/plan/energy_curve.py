"""A weight matters as much as what it multiplies: channels whose input is always 0 set nobody's step.

error(p) = sum over c of E[x_c^2] * sum of (W_c - q(W_c, p))^2        c: input channels
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..numerics.positions import scale_of
from .error_curve import ErrorCurve

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Weights of which the error is computed at a time; several arrays of so many lie in the processor's cache.
CHUNK = 1 << 15
OCTAVES = 10  # below the step that clips nothing


def weighted_error(
    w: NDArray[Any], importance: NDArray[Any], steps: NDArray[Any], low: float, high: float
) -> NDArray[np.float64]:
    """sum of importance * (w - q(w))^2 over each row of w [row, n] at its step [row], codes counted from zero."""
    errors = np.zeros(len(w))
    rows, width = max(CHUNK // max(w.shape[1], 1), 1), min(CHUNK, max(w.shape[1], 1))
    for row in range(0, len(w), rows):
        step = steps[row : row + rows, None].astype(np.float32)
        for start in range(0, w.shape[1], width):
            part = np.s_[row : row + rows, start : start + width]
            scaled = w[part].astype(np.float32) / step
            scaled -= np.clip(np.rint(scaled), low, high)
            scaled *= step
            np.square(scaled, out=scaled)
            scaled *= importance[part]
            errors[row : row + rows] += scaled.sum(axis=1, dtype=np.float64)
    return errors


@dataclass
class EnergyCurve(ErrorCurve):
    """The squared error of a weight, each element times its ``importance`` (same shape as ``values``).

    What covers the values is as in ErrorCurve: all of them.
    """

    importance: NDArray[np.float32] = field(default_factory=lambda: np.ones((), np.float32))

    @property
    def _energy(self) -> float:
        if "energy" not in self.__dict__:
            w, importance = self._rows()
            self.__dict__["energy"] = float(np.einsum("ij,ij,ij->", importance, w, w, dtype=np.float64))
        energy: float = self.__dict__["energy"]
        return energy

    def _error(self, position: int, zero: int) -> float:
        qmin, qmax = self.limits
        w, importance = self._rows()
        return float(weighted_error(w, importance, np.array([scale_of(position)]), qmin - zero, qmax - zero)[0])

    def _clipped(self, position: int) -> float:
        """A lower bound of the error here and at every finer position: what the dearest value alone loses."""
        if "dearest" not in self.__dict__:
            w, importance = self._rows()
            at = int(np.argmax(importance * np.square(w)))
            self.__dict__["dearest"] = float(w.ravel()[at]), float(importance.ravel()[at])
        value, weight = self.__dict__["dearest"]
        qmin, qmax = self.limits
        step, zero = scale_of(position), self.zero_point(position)
        over = max(value - (qmax - zero) * step, (qmin - zero) * step - value, 0.0)
        return float(weight * over * over)

    def _rows(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        assert self.values is not None
        return np.asarray(self.values, np.float32).reshape(1, -1), self.importance.reshape(1, -1)


def least_error_shares(
    w: NDArray[Any], importance: NDArray[Any], steps: NDArray[Any], low: float, high: float, *, parts: int = 8
) -> NDArray[np.float64]:
    """The share of its step at which each row of w [row, n] has the least weighted error: 2^-(k / parts), 1 at most.

    ``steps`` [row] clip nothing. Shares are tried downwards; a row is left at twice its least error or more.
    """
    shares, best = np.ones(len(w)), weighted_error(w, importance, steps, low, high)
    waits = best > 0
    for number in range(1, parts * OCTAVES + 1):
        if not waits.any():
            break
        rows = np.flatnonzero(waits)
        share = 2.0 ** (-number / parts)
        error = weighted_error(w[rows], importance[rows], steps[rows] * share, low, high)
        better = error < best[rows]
        shares[rows[better]], best[rows[better]] = share, error[better]
        waits[rows] = (error < 2 * best[rows]) | (number < parts)
    return shares
