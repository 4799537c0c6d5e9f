"""A score of samples is a function of how often each was drawn, so that chance can draw them anew."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Case = Any


class Drawn(Protocol):
    """Scores of draws."""

    def __len__(self) -> int:
        """How many samples there are."""

    def of(self, counts: NDArray[np.int64]) -> Floats:
        """The score of each draw [draws], which takes each sample as often as ``counts`` [draws, samples] says."""


@dataclass(frozen=True)
class MeanScore:
    """The mean of one number for each sample: reciprocal ranks of answers."""

    values: Floats

    def __len__(self) -> int:
        return len(self.values)

    def of(self, counts: NDArray[np.int64]) -> Floats:
        return counts @ self.values / len(self)


@dataclass(frozen=True)
class CurveScore:
    """The mean area under ROC curves over the same samples: each has scores [samples] and labels [samples]."""

    curves: Sequence[tuple[Floats, NDArray[np.bool_]]]

    def __len__(self) -> int:
        return len(self.curves[0][0])

    def of(self, counts: NDArray[np.int64]) -> Floats:
        areas = []
        for scores, labels in self.curves:
            above = np.sign(scores[labels][:, None] - scores[~labels][None]) / 2 + 0.5
            positives, negatives = counts[:, labels], counts[:, ~labels]
            pairs = positives.sum(1) * negatives.sum(1)
            areas.append(((positives @ above) * negatives).sum(1) / np.where(pairs, pairs, np.nan))
        return np.mean(areas, 0)


class Listened:
    """A session that keeps what it gives."""

    def __init__(self, session: Any) -> None:
        self.session, self.given = session, []  # type: Any, list[Any]

    def get_inputs(self) -> Any:
        return self.session.get_inputs()

    def get_outputs(self) -> Any:
        return self.session.get_outputs()

    def run(self, names: Any, feed: Any) -> Any:
        outputs = self.session.run(names, feed)
        self.given.append(outputs[0])
        return outputs


def reciprocal_ranks(embeddings: NDArray[np.float32]) -> Floats:
    """Of each query's answer: the first half of ``embeddings`` [2n, width] are queries, the second their answers."""
    half = len(embeddings) // 2
    likeness = embeddings[:half] @ embeddings[half:].T
    return 1 / ((likeness > np.diag(likeness)[:, None]).sum(1) + 1.0)


def _ranks(given: list[Any]) -> MeanScore:
    outputs = np.concatenate(given)
    if outputs.ndim != 2 or len(outputs) % 2:
        raise SystemExit(f"outputs of shape {outputs.shape} are no queries and as many answers")
    return MeanScore(reciprocal_ranks(outputs))


def score_of(case: Case, session: Any, zoo: ModuleType | None = None) -> Drawn:
    """A case's score by samples: areas where it asks the zoo's ``auc(scores, labels)``, else reciprocal ranks."""
    listened, curves = Listened(session), []
    asked: Callable[[Any, Any], float] | None = getattr(zoo, "auc", None)

    def auc(scores: Any, labels: Any) -> float:
        assert asked is not None
        curves.append((np.asarray(scores, np.float64), np.asarray(labels, np.bool_)))
        return asked(scores, labels)

    if asked is not None:
        zoo.auc = auc  # type: ignore[union-attr]
    try:
        score = case.evaluate(listened)
    finally:
        if asked is not None:
            zoo.auc = asked  # type: ignore[union-attr]
    found: Drawn = CurveScore(curves) if curves else _ranks(listened.given)
    whole = float(found.of(np.ones((1, len(found)), np.int64))[0])
    if not np.isclose(whole, score, atol=1e-9):
        raise SystemExit(f"the score {score} is neither a mean of reciprocal ranks nor of areas: that would be {whole}")
    return found
