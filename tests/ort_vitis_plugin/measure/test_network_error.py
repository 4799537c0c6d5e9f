"""A guard says yes only to what is nearer to float on most samples, in every part, and in every class."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from ort_vitis_plugin.measure.network_error import network_error

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Sample = list[NDArray[np.float32]]

DRAW = np.random.default_rng(0)
WANTED: list[Sample] = [[DRAW.normal(size=(1, 10)).astype(np.float32)] for _ in range(6)]


def noisy(wanted: list[Sample], *levels: float) -> list[Sample]:
    draw = np.random.default_rng(7)
    return [
        [f + level * draw.normal(size=f.shape).astype(np.float32) for f in sample]
        for sample, level in zip(wanted, levels * len(wanted), strict=False)
    ]


def test_less_noise_is_better_and_more_is_not() -> None:
    low, high = (network_error(WANTED, noisy(WANTED, level)) for level in (0.01, 0.05))
    assert low.is_better_than(high)
    assert not high.is_better_than(low)
    assert not low.is_better_than(low)
    assert low.mean == pytest.approx(1e-4, rel=0.8)


def test_a_gain_on_some_samples_and_a_loss_on_others_is_chance() -> None:
    even = network_error(WANTED, noisy(WANTED, 0.03))
    mixed = network_error(WANTED, noisy(WANTED, 0.004, 0.1))
    assert not mixed.is_better_than(even)


@pytest.mark.parametrize("other_loss", [0.004, 0.012])
def test_of_changes_that_were_confirmed_the_mean_alone_may_tell(other_loss: float) -> None:
    """Of four samples two are far from float and come nearer; the other two lose little, or more than those gain."""
    far, near = (0.3, 0.3, 0.003, 0.003), (0.1, 0.1, other_loss, other_loss)
    wanted = [[DRAW.normal(size=(1, 1000)).astype(np.float32)] for _ in range(12)]
    before, after = (network_error(wanted, noisy(wanted, *(levels * 3))) for levels in (far, near))
    assert after.is_better_than(before, confirmed=True) is (other_loss < 0.01)
    assert not before.is_better_than(after, confirmed=True)


def test_of_changes_that_were_confirmed_the_least_gain_counts_where_all_samples_have_it() -> None:
    wanted = [[DRAW.normal(size=(1, 1000)).astype(np.float32)] for _ in range(12)]
    before, after = (network_error(wanted, noisy(wanted, level)) for level in (0.05, 0.0497))
    assert after.is_better_than(before, confirmed=True)
    assert not after.is_better_than(before)


def test_a_part_that_pays_for_another_is_no_gain() -> None:
    """Of an output with few columns each column is a part: boxes must not pay for scores."""
    wanted = [[DRAW.normal(size=(1, 20, 4)).astype(np.float32)] for _ in range(6)]
    before, after = noisy(wanted, 0.05), noisy(wanted, 0.01)
    for at, sample in enumerate(after):
        sample[0][..., 3] = wanted[at][0][..., 3] + 0.2
    assert not network_error(wanted, after).is_better_than(network_error(wanted, before))


def test_a_class_that_is_lost_is_no_gain() -> None:
    wanted = [[np.array([[1.0, 1.02, 9.0, 9.1]], np.float32)] for _ in range(6)]
    before = [[np.array([[0.5, 1.5, 9.0, 9.2]], np.float32)] for _ in range(6)]
    after = [[np.array([[1.0, 1.0, 9.11, 9.1]], np.float32)] for _ in range(6)]
    one, other = network_error(wanted, after), network_error(wanted, before)
    assert one.mean < other.mean
    assert not one.is_better_than(other)


def test_what_ranks_no_classes_loses_none() -> None:
    """The largest of a row of pixels is no class."""
    wanted = [[np.array([[[[1.0, 1.02, 9.0, 9.1]]]], np.float32)] for _ in range(6)]
    before = [[np.array([[[[0.5, 1.5, 9.0, 9.2]]]], np.float32)] for _ in range(6)]
    after = [[np.array([[[[1.0, 1.0, 9.11, 9.1]]]], np.float32)] for _ in range(6)]
    one, other = (network_error(wanted, found, [None]) for found in (after, before))
    assert one.is_better_than(other)


def test_what_cannot_be_compared_is_no_gain() -> None:
    shorter = [[np.zeros((1, 9), np.float32)] for _ in WANTED]
    assert not network_error(WANTED, shorter).is_better_than(network_error(WANTED, noisy(WANTED, 0.1)))
    infinite = [[np.full((1, 10), np.inf, np.float32)] for _ in WANTED]
    assert network_error(WANTED, noisy(WANTED, 0.1)).is_better_than(network_error(WANTED, infinite))
