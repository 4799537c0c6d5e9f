"""Of trials that samples held out cannot tell from the best, the one that follows the samples at hand least is taken.

This is the rule of one standard error (Breiman et al., Classification and Regression Trees, 1984, 3.4.3): the samples
held out are few and like those at hand; samples to come are less so, and what follows those at hand more loses more.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray


class Trial(NamedTuple):
    """A candidate, by how many positions its weights moved, and its mean square error on each sample held out."""

    name: str
    moved: int
    errors: NDArray[np.float64]

    @property
    def error(self) -> float:
        """The mean over samples."""
        return float(self.errors.mean())


def least_bound(trials: Sequence[Trial], order: Sequence[str]) -> Trial:
    """The trial of least error; or, if it is in ``order``, the first in it at the same position that is no worse than
    that by more than a standard error."""
    best = min(trials, key=lambda trial: trial.error)
    if best.name not in order:
        return best
    by_name = {trial.name: trial for trial in trials if trial.moved == best.moved}
    before = order[: order.index(best.name)]
    return next((by_name[name] for name in before if name in by_name and _is_no_worse(by_name[name], best)), best)


def _is_no_worse(one: Trial, other: Trial) -> bool:
    gaps = one.errors - other.errors
    return len(gaps) > 1 and bool(gaps.mean() <= gaps.std(ddof=1) / math.sqrt(len(gaps)))
