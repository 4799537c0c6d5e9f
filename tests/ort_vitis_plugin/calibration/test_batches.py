"""Samples are cut without a gap or an overlap, and what a reader raises names its sample."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from ort_vitis_plugin.calibration.batches import batches_of
from ort_vitis_plugin.errors import CalibrationError

FEEDS = [{"x": np.full(1, number, np.float32)} for number in range(10)]


class Ranged:
    """A reader of any part of its samples."""

    def __len__(self) -> int:
        return len(FEEDS)

    def __getitem__(self, at: int) -> dict[str, np.ndarray]:
        return FEEDS[at]


def numbers(batches: Iterator) -> list[list[int]]:
    return [[int(feed["x"][0]) for feed in batch.feeds()] for batch in batches]


def test_one_process_without_checkpoints_has_one_batch() -> None:
    assert numbers(batches_of(iter(FEEDS), 0, None, here=True)) == [list(range(10))]


@pytest.mark.parametrize("skip", [0, 4])
def test_batches_follow_each_other(skip: int) -> None:
    assert numbers(batches_of(iter(FEEDS), skip, 4, here=True))[:2] == [
        list(range(skip, min(skip + 4, 10))),
        list(range(skip + 4, min(skip + 8, 10))),
    ]


def test_a_ranged_reader_travels_instead_of_its_samples() -> None:
    batches = list(batches_of(Ranged(), 0, 4, here=False))
    assert [(batch.first, batch.stop, batch.constants) for batch in batches] == [
        (0, 4, True),
        (4, 8, False),
        (8, 10, False),
    ]
    assert all(isinstance(batch.source, Ranged) for batch in batches)
    assert numbers(iter(batches)) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_a_checkpoint_of_more_samples_than_there_are() -> None:
    with pytest.raises(CalibrationError, match="holds 11 samples, but the reader has only 10"):
        list(batches_of(iter(FEEDS), 11, 4, here=True))


def test_samples_before_an_error_are_given() -> None:
    def failing() -> Iterator[dict[str, np.ndarray]]:
        yield from FEEDS[:5]
        raise KeyError("gone")

    batches = batches_of(failing(), 0, 4, here=True)
    assert numbers(iter([next(batches), next(batches)])) == [[0, 1, 2, 3], [4]]
    with pytest.raises(KeyError, match="gone") as caught:
        next(batches)
    assert any("at sample 5" in note for note in caught.value.__notes__)
