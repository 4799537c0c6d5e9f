"""Scores of draws agree with those of the samples that were drawn."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.zoo.drawn_scores import CurveScore, MeanScore, reciprocal_ranks, score_of

RNG = np.random.default_rng(0)
EMBEDDINGS = RNG.normal(size=(6, 3)).astype(np.float32)


def area(scores: Any, labels: Any) -> float:
    """Of all pairs of a positive and a negative, the share in which the positive is above."""
    scores, labels = np.asarray(scores), np.asarray(labels)
    pairs = [(a > b) + (a == b) / 2 for a in scores[labels] for b in scores[~labels]]
    return float(np.mean(pairs))


def test_ranks_count_the_answers_that_are_more_alike() -> None:
    queries, answers = np.eye(3, dtype=np.float32), np.float32([[1, 0, 0], [2, 1, 0], [3, 2, 1]])
    np.testing.assert_allclose(reciprocal_ranks(np.concatenate([queries, answers])), [1 / 3, 1 / 2, 1])


def test_draws_score_as_the_samples_that_they_took() -> None:
    counts = RNG.multinomial(12, np.full(12, 1 / 12), 5)
    values, scores = RNG.normal(size=12), RNG.integers(0, 6, 12).astype(float)
    labels = np.arange(12) % 2 == 0
    taken = [np.repeat(np.arange(12), each) for each in counts]
    np.testing.assert_allclose(MeanScore(values).of(counts), [values[each].mean() for each in taken])
    expected = [area(scores[each], labels[each]) for each in taken]
    np.testing.assert_allclose(CurveScore([(scores, labels)]).of(counts), expected)


def test_a_draw_without_positives_has_no_area() -> None:
    score = CurveScore([(np.array([0.2, 0.8]), np.array([False, True]))])
    assert np.isnan(score.of(np.array([[2, 0]]))).all()


def case(score: Any) -> Any:
    return SimpleNamespace(evaluate=lambda session: score(session.run(None, EMBEDDINGS)[0]))


SESSION = SimpleNamespace(run=lambda names, feed: [feed])


def test_a_mean_of_ranks_is_taken_apart() -> None:
    expected = reciprocal_ranks(EMBEDDINGS)
    found = score_of(case(lambda given: float(expected.mean())), SESSION)
    assert isinstance(found, MeanScore)
    np.testing.assert_array_equal(found.values, expected)


def test_a_mean_of_areas_is_taken_apart_and_the_zoo_left_as_it_was() -> None:
    zoo: Any = ModuleType("zoo")
    zoo.auc = area
    labels = np.arange(6) % 2 == 0
    found = score_of(case(lambda given: zoo.auc(given[:, 0], labels)), SESSION, zoo)
    assert isinstance(found, CurveScore)
    np.testing.assert_array_equal(found.curves[0][1], labels)
    assert zoo.auc is area


@pytest.mark.parametrize("score", [2.0])
def test_a_score_of_another_kind_is_refused(score: float) -> None:
    with pytest.raises(SystemExit, match="neither a mean of reciprocal ranks nor of areas"):
        score_of(case(lambda given: score), SESSION)
