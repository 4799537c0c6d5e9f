"""Samples that judge are not samples that teach: a share of them is held out."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ort_vitis_plugin.api import CalibrationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from .layer import Layer

FEWEST, ENOUGH = 4, 32
FEWEST_COLUMNS, COLUMNS_PER_WEIGHT = 2048, 64
HELD_ELEMENTS = 1 << 24  # of columns kept at once: 64 MiB, float and quantized each


@dataclass(frozen=True)
class Split:
    """Feeds in the caller's order, and the indices of those held out."""

    feeds: Sequence[Mapping[str, NDArray[Any]]]
    held: frozenset[int]

    @property
    def judges(self) -> list[Mapping[str, NDArray[Any]]]:
        """The feeds held out."""
        return [self.feeds[number] for number in sorted(self.held)]


def split(feeds: Iterable[Mapping[str, NDArray[Any]]], share: float, seed: int) -> Split:
    """Hold out a share of the feeds, at least one; CalibrationError where there are too few.

    Raises:
        CalibrationError: there are too few feeds.
    """
    known = [dict(feed) for feed in feeds]
    if len(known) < FEWEST:
        raise CalibrationError(
            f"{len(known)} samples are too few to learn from and to judge by; give at least {FEWEST}, "
            f"{ENOUGH} are enough"
        )
    count = min(max(round(len(known) * share), 1), len(known) - 1)
    drawn = np.random.default_rng(seed).permutation(len(known))[:count]
    return Split(known, frozenset(int(index) for index in drawn))


def drawn_columns(available: int, quota: int, seed: tuple[int, ...]) -> NDArray[np.int64]:
    """Which of the available columns of a sample are looked at, in order; ``quota`` at most."""
    if available <= quota:
        return np.arange(available)
    return np.sort(np.random.default_rng(seed).choice(available, quota, replace=False))


def quotas(layer: Layer, columns: int, learning: int, judging: int) -> tuple[int, int]:
    """How many columns are taken of each sample that is learned from, and of each held out.

    Columns needed grow with the weights of an output: 64 for each, ``columns`` at most.
    """
    wanted = min(columns, max(FEWEST_COLUMNS, COLUMNS_PER_WEIGHT * layer.width))
    return max(wanted // max(learning, 1), 1), min(max(wanted // max(judging, 1), 1), most_columns(layer, judging))


def most_columns(layer: Layer, samples: int) -> int:
    """How many columns of each of so many samples may be kept at once."""
    return max(HELD_ELEMENTS // max(layer.width * layer.groups, 1) // max(samples, 1), 1)
