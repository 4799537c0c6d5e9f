"""A source is read by what it can do: next, iteration, or an index."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import pytest

from ort_vitis_plugin.data_readers.sources import between, feeds_of, is_data_set, is_ranged, makes_readers


class Reader:
    def __init__(self) -> None:
        self.rest = iter([1, 2])

    def get_next(self) -> int | None:
        return next(self.rest, None)


class DataSet:
    def __len__(self) -> int:
        return 4

    def __getitem__(self, at: int) -> int:
        return at * 10


@pytest.mark.parametrize(("source", "expected"), [(Reader(), [1, 2]), ([3, 4], [3, 4]), (DataSet(), [0, 10, 20, 30])])
def test_samples(source: Any, expected: list[int]) -> None:
    assert list(feeds_of(source)) == expected


def test_what_is_read_from_anywhere() -> None:
    assert is_ranged(DataSet())
    assert not is_ranged([1, 2])
    assert not is_ranged(Reader())
    assert not is_ranged(DataSet)
    assert list(between(DataSet(), 1, 3)) == [10, 20]


def test_data_sets_and_makers() -> None:
    assert is_data_set(DataSet())
    assert not is_data_set({"x": 1})
    assert makes_readers(Reader)
    assert makes_readers(lambda: Reader())
    assert not makes_readers(Reader())
    assert not makes_readers([1])
