"""A few numbers lie evenly over all, and apart from others where there is room."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from ort_vitis_plugin.data_readers.spread import picked, spread


@pytest.mark.parametrize(
    ("known", "most", "without", "wanted"),
    [
        (0, 4, (), []),
        (3, 8, (), [0, 1, 2]),
        (9, 3, (), [0, 4, 8]),
        (10, 1, (), [0]),
        (8, 4, (0, 7), [1, 2, 4, 6]),
        (4, 3, (0, 1), [0, 1, 3]),
    ],
)
def test_numbers_lie_evenly(known: int, most: int, without: tuple[int, ...], wanted: list[int]) -> None:
    assert spread(known, most, without) == wanted


def test_no_more_samples_are_read_than_are_needed() -> None:
    read = []

    def samples() -> Iterator[dict[str, object]]:
        for number in range(9):
            read.append(number)
            yield {"x": np.float32(number)}

    assert [feed["x"] for feed in picked(samples(), [1, 3])] == [1, 3]
    assert read == [0, 1, 2, 3]
    assert [feed["x"] for feed in picked(samples(), [8, 20])] == [8]
