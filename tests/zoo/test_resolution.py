"""A difference is told from none where draws of the same samples nearly all have its sign."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from tests.zoo.drawn_scores import CurveScore, Drawn, MeanScore
from tests.zoo.resolution import resolution

RNG = np.random.default_rng(0)
LABELS = RNG.uniform(size=200) < 0.5


def mean(shift: float, noise: np.ndarray) -> Drawn:
    return MeanScore(np.linspace(0, 1, 200) + shift + noise)


def curve(shift: float, noise: np.ndarray) -> Drawn:
    return CurveScore([(np.linspace(0, 1, 200) + 2 * LABELS * (1 + shift) + noise, LABELS)])


@pytest.mark.parametrize(("shift", "shows"), [(0.0, False), (0.5, True), (-0.5, True)])
def test_a_difference_of_means_shows_beyond_chance(shift: float, shows: bool) -> None:
    found = resolution(mean(0, np.zeros(200)), mean(shift, RNG.normal(0, 1, 200)), 2000)
    assert found.shows == shows
    assert found.low < found.difference < found.high
    assert found.error == pytest.approx(1 / np.sqrt(200), rel=0.2)


@pytest.mark.parametrize(("shift", "shows"), [(0.0, False), (-0.8, True)])
def test_a_difference_of_areas_shows_beyond_chance(shift: float, shows: bool) -> None:
    found = resolution(curve(0, np.zeros(200)), curve(shift, RNG.normal(0, 0.01, 200)), 500)
    assert found.shows == shows
    assert str(found).endswith("shows" if shows else "within the resolution of the data")
