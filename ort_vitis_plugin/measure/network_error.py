"""How far a network is from its float self, sample by sample and part by part: what guards compare.

Of each part of an output, over one sample:    error = |f - q|^2 / |f|^2
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
# Classes: rows of that many numbers at least, whose largest is asked for.
FEWEST_CLASSES = 3
# An error of so much less is better, of so much more worse.
BETTER, WORSE = 0.95, 1.1
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

    def is_better_than(self, other: NetworkError) -> bool:
        """Whether this is nearer to float beyond chance: less error over samples, no part worse, no class lost.

        The mean logarithm of the ratio of errors must lie below 0 by its standard error over samples.
        """
        if not self.errors.size or self.errors.shape != other.errors.shape:
            return False
        ratio = np.log(self.errors + FLOOR) - np.log(other.errors + FLOOR)
        by_sample = ratio.mean(axis=1)
        chance = by_sample.std(ddof=1) / np.sqrt(len(by_sample)) if len(by_sample) > 1 else np.inf
        if by_sample.mean() + chance >= 0 or by_sample.mean() > np.log(BETTER):
            return False
        if (ratio.mean(axis=0) > np.log(WORSE)).any():
            return False
        return bool(self.agreement.mean() >= other.agreement.mean())


def network_error(
    wanted: Sequence[Outputs], found: Sequence[Outputs], classes: Sequence[int | None] | None = None
) -> NetworkError:
    """``wanted`` and ``found`` hold, sample by sample, the outputs of the float and of the quantized network.

    ``classes`` gives the axis along which each output ranks classes, None for one that does not; without it, that is
    the last axis of any that has three entries or more along it. An output that is no array of floats, or differs in
    shape, is left out for all samples.
    """
    errors: list[list[float]] = [[] for _ in wanted]
    agreement: list[list[float]] = [[] for _ in wanted]
    for at in range(len(wanted[0]) if wanted else 0):
        pairs = [(np.asarray(f[at]), np.asarray(q[at])) for f, q in zip(wanted, found, strict=True)]
        if any(f.dtype.kind != "f" or f.shape != q.shape or not f.size for f, q in pairs):
            continue
        splits = all(_has_parts(f) and f.shape[-1] == pairs[0][0].shape[-1] for f, _ in pairs)
        for sample, (f, q) in enumerate(pairs):
            errors[sample] += _errors(f.astype(np.float64), q.astype(np.float64), splits=splits)
            axis = -1 if classes is None else classes[at]
            if axis is not None and f.ndim >= 2 and f.shape[axis] >= FEWEST_CLASSES and not splits:
                agreement[sample].append(float((f.argmax(axis=axis) == q.argmax(axis=axis)).mean()))
    means = [float(np.mean(shares)) if shares else 1.0 for shares in agreement]
    return NetworkError(np.asarray(errors, np.float64).reshape(len(errors), -1), np.asarray(means))


def _has_parts(f: NDArray[Any]) -> bool:
    return f.ndim == 3 and f.shape[-1] <= MOST_PARTS and f.size // f.shape[-1] >= FEWEST_ROWS


def _errors(f: NDArray[np.float64], q: NDArray[np.float64], *, splits: bool) -> list[float]:
    rows = (f.shape[-1] if splits else f.size,)
    noise, signal = (part.reshape(-1, *rows) if splits else part.reshape(-1, 1) for part in ((f - q) ** 2, f**2))
    noise, signal = noise.sum(axis=0), signal.sum(axis=0)
    finite = np.where(np.isfinite(noise), noise, np.finfo(np.float64).max)
    shares: list[float] = (finite / np.maximum(signal, FLOOR)).tolist()
    return shares
