"""What makes a result bad: noise, other classes, one value; and what does not."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ort_vitis_plugin.measure.verdict import argmax_agreement, objection

RNG = np.random.default_rng(0)
X = RNG.standard_normal((4, 30)).astype(np.float32)
CLASSES = np.eye(10, dtype=np.float32)[RNG.integers(0, 10, 100)] * 3


def shifted(rows: int) -> NDArray[np.float32]:
    """The classes of so many rows are others, by a little more than the next."""
    found = CLASSES.copy()
    found[:rows] = np.roll(found[:rows], 1, axis=1) * 0.7 + found[:rows] * 0.65
    return found


GOOD: dict[str, tuple[Any, Any]] = {
    "the same": (X, X),
    "11 dB": (X, X * (1 + 10 ** (-11 / 20))),
    "one value in float too": (np.ones((2, 3), np.float32), np.ones((2, 3), np.float32)),
    "infinite where float is": (np.float32([1, np.inf, 2]), np.float32([1.01, np.inf, 2])),
    "one row of twenty": (CLASSES, shifted(5)),
    "too few rows to judge classes by": (CLASSES[:10], shifted(1)[:10]),
    "no classes": (CLASSES.reshape(25, 4, 10), shifted(8).reshape(25, 4, 10)),
    "nothing": (np.zeros((0, 4), np.float32), np.zeros((0, 4), np.float32)),
}
BAD: dict[str, tuple[Any, Any, str]] = {
    "9 dB": (X, X * (1 + 10 ** (-9 / 20)), "9.0 dB against float"),
    "one value": (X, np.full_like(X, 0.25), "it is 0.25 everywhere"),
    "other classes": (CLASSES, shifted(8), "its largest entry is that of float in 92% of the rows"),
    "nothing that is finite agrees": (np.float32([1, np.nan]), np.float32([9, 9]), "dB against float"),
}


@pytest.mark.parametrize("case", GOOD)
def test_nothing_is_said_of_a_good_output(case: str) -> None:
    f, q = GOOD[case]
    assert objection([f], [q]) is None


@pytest.mark.parametrize("case", BAD)
def test_a_bad_output_is_told_with_its_figure(case: str) -> None:
    f, q, text = BAD[case]
    assert text in (objection([f], [q]) or "")
    assert text in (objection([f[:1], f[1:]], [q[:1], q[1:]]) or ""), "samples count together"


def test_classes_are_counted_over_all_samples() -> None:
    found = shifted(25)
    rows = [CLASSES[at : at + 1, :, None, None] for at in range(100)]
    assert argmax_agreement(rows, [found[at : at + 1, :, None, None] for at in range(100)]) == pytest.approx(0.75)
    assert argmax_agreement([CLASSES[:, :1]], [found[:, :1]]) is None
