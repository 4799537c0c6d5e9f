"""How far a network is from its float self, sample by sample and part by part: what guards compare.

Of each part of an output, over one sample:    error = |f - q|^2 / |f|^2

A sample whose |f|^2 is below a tenth of the mean over samples counts as if it had as much.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Outputs = Sequence[Any]

# Entries along the last axis that may be things apart (boxes, scores): more are one distribution.
MOST_PARTS, FEWEST_ROWS = 64, 8
# Rows of that many numbers at least may be classes, whose largest is asked for.
FEWEST_CLASSES = 3
# An error of so much less is better, of so much more worse.
BETTER, WORSE = 0.95, 1.1
# Errors below 60 dB are all alike.
UNSEEN = 1e-6
# A sample of little energy counts as one of this share of the mean.
LEAST_SHARE = 0.1
FLOOR = 1e-12


@dataclass(frozen=True)
class NetworkError:
    """``errors`` [sample, part] relative to float; ``agreement`` [sample], the share of rows with float's argmax."""

    errors: NDArray[np.float64]
    agreement: NDArray[np.float64]

    @property
    def mean(self) -> float:
        """The mean over samples and parts; NaN where nothing can be compared."""
        return float(self.errors.mean()) if self.errors.size else float("nan")

    def is_better_than(self, other: NetworkError, *, confirmed: bool = False) -> bool:
        """Whether a change gains more over all samples than chance explains, and no part of an output loses.

        The mean logarithm of the ratio of errors must lie below 0 by its standard error over samples; classes are lost
        where agreement fell by two standard errors. Of a sum of changes each of which was ``confirmed`` on samples held
        out, gains below 5 % count too, and where few samples far from float hold most of the error, the mean of its
        differences may be what lies below 0, if the typical sample gains 5 % as well.
        """
        if not self._loses_nothing_of(other):
            return False
        ratio = self._ratio(other).mean(axis=1)
        shows, typical = ratio.mean() < -_chance(ratio), ratio.mean() <= np.log(BETTER)
        if not confirmed:
            return bool(shows and typical)
        change = (self.errors - other.errors).mean(axis=1)
        return bool(shows or (typical and change.mean() < -_chance(change)))

    def _ratio(self, other: NetworkError) -> NDArray[np.float64]:
        """Logarithms of the ratio of errors [sample, part]."""
        found: NDArray[np.float64] = np.log(self.errors + UNSEEN) - np.log(other.errors + UNSEEN)
        return found

    def _loses_nothing_of(self, other: NetworkError) -> bool:
        """Whether there is anything to compare, and no part and no class is worse off."""
        if not self.errors.size or self.errors.shape != other.errors.shape or self.mean > other.mean:
            return False
        lost = other.agreement - self.agreement
        kept = lost.mean() <= 0 or lost.mean() < 2 * _chance(lost)
        return bool(kept and (self._ratio(other).mean(axis=0) <= np.log(WORSE)).all())


def _chance(values: NDArray[np.float64]) -> float:
    """The standard error of the mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.inf


def network_error(
    wanted: Sequence[Outputs], found: Sequence[Outputs], classes: Sequence[int | None] | None = None
) -> NetworkError:
    """``wanted`` and ``found`` hold, sample by sample, the outputs of the float and of the quantized network.

    ``classes`` gives the axis along which each output ranks classes, None for one that does not; without it, that is
    the last axis of any that has three entries or more along it. An output that is no array of floats, or differs in
    shape, is left out for all samples.
    """
    columns: list[NDArray[np.float64]] = []
    agreement: list[list[float]] = [[] for _ in wanted]
    for at in range(len(wanted[0]) if wanted else 0):
        pairs = [(np.asarray(f[at]), np.asarray(q[at])) for f, q in zip(wanted, found, strict=True)]
        if any(f.dtype.kind != "f" or f.shape != q.shape or not f.size for f, q in pairs):
            continue
        splits = all(_has_parts(f) and f.shape[-1] == pairs[0][0].shape[-1] for f, _ in pairs)
        columns.append(_errors(pairs, splits=splits))
        for sample, (f, q) in enumerate(pairs):
            axis, fewest = (-1, FEWEST_CLASSES) if classes is None else (classes[at], 2)
            if axis is not None and f.ndim >= 2 and f.shape[axis] >= fewest and not splits:
                agreement[sample].append(float((f.argmax(axis=axis) == q.argmax(axis=axis)).mean()))
    means = [float(np.mean(shares)) if shares else 1.0 for shares in agreement]
    errors = np.concatenate(columns, axis=1) if columns else np.zeros((len(wanted), 0))
    return NetworkError(errors, np.asarray(means))


def _has_parts(f: NDArray[Any]) -> bool:
    return f.ndim == 3 and f.shape[-1] <= MOST_PARTS and f.size // f.shape[-1] >= FEWEST_ROWS


def _errors(pairs: Sequence[tuple[NDArray[Any], NDArray[Any]]], *, splits: bool) -> NDArray[np.float64]:
    """[sample, part] of one output."""
    noise, signal = (
        np.array([_squares(part, splits=splits) for part in parts])
        for parts in ([f.astype(np.float64) - q for f, q in pairs], [f.astype(np.float64) for f, _ in pairs])
    )
    finite = np.where(np.isfinite(noise), noise, np.finfo(np.float64).max)
    shares: NDArray[np.float64] = finite / np.maximum(signal, LEAST_SHARE * signal.mean(axis=0) + FLOOR)
    return shares


def _squares(values: NDArray[np.float64], *, splits: bool) -> NDArray[np.float64]:
    total: NDArray[np.float64] = np.square(values).reshape(-1, values.shape[-1] if splits else 1).sum(axis=0)
    return total
