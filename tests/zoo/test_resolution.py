"""A difference is told from none where draws of the same queries nearly all have its sign."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.zoo.resolution import ranks_of, reciprocal_ranks, resolution

RNG = np.random.default_rng(0)


def test_ranks_count_the_answers_that_are_more_alike() -> None:
    queries, answers = np.eye(3, dtype=np.float32), np.float32([[1, 0, 0], [2, 1, 0], [3, 2, 1]])
    np.testing.assert_allclose(reciprocal_ranks(np.concatenate([queries, answers])), [1 / 3, 1 / 2, 1])


@pytest.mark.parametrize(("shift", "shows"), [(0.0, False), (0.5, True), (-0.5, True)])
def test_a_difference_shows_beyond_chance(shift: float, shows: bool) -> None:
    before = RNG.uniform(0, 1, 200)
    found = resolution(before, before + shift + RNG.normal(0, 1, 200), 2000)
    assert found.shows == shows
    assert found.low < found.difference < found.high
    assert found.error == pytest.approx(1 / np.sqrt(200), rel=0.2)


def test_a_score_of_another_kind_is_refused() -> None:
    embeddings = RNG.normal(size=(4, 3)).astype(np.float32)

    def session(score: float) -> tuple[Any, Any]:
        run = SimpleNamespace(run=lambda names, feed: [feed])
        return SimpleNamespace(evaluate=lambda given: (given.run(None, embeddings), score)[1]), run

    expected = reciprocal_ranks(embeddings)
    np.testing.assert_array_equal(ranks_of(*session(float(expected.mean()))), expected)
    with pytest.raises(SystemExit, match="no mean reciprocal rank"):
        ranks_of(*session(2.0))
