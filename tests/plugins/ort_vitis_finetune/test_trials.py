"""Chance decides for the candidate that follows the samples at hand less, and a real difference against it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_finetune.trials import Trial, least_bound

ORDER = ("symmetric", "damping 1", "damping 0.1")


def trial(name: str, *errors: float, moved: int = 0) -> Trial:
    return Trial(name, moved, np.array(errors))


BEST = trial("damping 0.1", 1.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([trial("damping 1", 0.5, 1.6, 0.6, 1.5)], "damping 1"),  # +0.05 on average, by chance
        ([trial("damping 1", 1.05, 1.06, 1.05, 1.06)], "damping 0.1"),  # +0.055 on every sample
        ([trial("damping 1", 0.5, 1.6, 0.6, 1.5), trial("symmetric", 0.6, 1.5, 0.5, 1.6)], "symmetric"),
        ([trial("damping 1", 0.5, 1.6, 0.6, 1.5), trial("symmetric", 3.0, 3.1, 3.0, 3.1)], "damping 1"),
        ([trial("damping 1", 0.5, 1.6, 0.6, 1.5, moved=1)], "damping 0.1"),  # weights at another position
        ([trial("keep", 0.5, 1.6, 0.6, 1.5)], "damping 0.1"),
        ([trial("keep", 0.5, 0.6, 0.6, 0.5), trial("damping 1", 0.5, 1.6, 0.6, 1.5)], "keep"),
    ],
)
def test_the_least_bound_of_those_alike_is_taken(others: list[Trial], expected: str) -> None:
    assert least_bound([BEST, *others], ORDER).name == expected


def test_one_sample_tells_nothing_of_chance() -> None:
    assert least_bound([trial("damping 0.1", 1.0), trial("symmetric", 1.0001)], ORDER).name == "damping 0.1"
