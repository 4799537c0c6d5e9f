"""Whatever holds samples is counted and picked by number, or only read one after the other."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ort_vitis_plugin.data_readers.items import Numbered, Rows, Stream, items_of
from ort_vitis_plugin.errors import CalibrationError

X = np.arange(12.0).reshape(4, 3)


def made() -> Iterator[np.ndarray]:
    yield from X


class Reader:
    """onnxruntime's interface and no more."""

    def __init__(self) -> None:
        self.rest = iter([{"x": row} for row in X])

    def get_next(self) -> dict[str, Any] | None:
        return next(self.rest, None)


@pytest.mark.parametrize(
    ("source", "kind", "count"),
    [
        (X, Rows, 4),
        ({"x": X, "z": X[:, 0]}, Rows, 4),
        ([{"x": row} for row in X], Numbered, 4),
        (made(), Stream, None),
        (made, Stream, None),
        (Reader(), Stream, None),
    ],
    ids=["array", "arrays by name", "list", "generator", "function", "reader"],
)
def test_every_source_gives_its_items(source: Any, kind: type, count: int | None) -> None:
    items = items_of(source)
    assert type(items) is kind
    assert items.count == count
    assert len(list(items.take(None))) == 4


def test_numbers_pick() -> None:
    for source in (X, {"x": X}, list(X)):
        assert [number for number, _ in items_of(source).take([2, 0])] == [2, 0]
    assert items_of(X).where(2) == "row 2"
    assert items_of(list(X)).where(2) == "sample 2"


def test_what_is_read_once_cannot_be_rewound() -> None:
    stream = items_of(Reader())
    assert isinstance(stream, Stream)
    with pytest.raises(NotImplementedError, match="Reader can be read only once"):
        stream.rewind()
    again = items_of(made)
    assert isinstance(again, Stream)
    again.rewind()


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (5, "the samples are int; give a path"),
        ("", "an empty path"),
        (b"x", "the samples are bytes"),
        ({"x": 5}, "'x' of the samples is int, not an array"),
        ("nowhere.npz", "does not exist"),
    ],
)
def test_what_holds_no_samples_is_told(source: Any, text: str) -> None:
    with pytest.raises(CalibrationError, match=text):
        items_of(source)


def test_arrays_of_different_lengths_are_told() -> None:
    with pytest.raises(CalibrationError, match="different numbers of samples: x 4, z 3"):
        _ = items_of({"x": X, "z": X[:3]}).count


def test_a_folder_of_nothing_is_told(tmp_path: Path) -> None:
    with pytest.raises(CalibrationError, match=r"holds no \.npy or \.npz file and no picture"):
        items_of(tmp_path)
