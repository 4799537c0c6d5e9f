"""A classifier is right about a sample where its output ranks the sample's label highest."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import CalibrationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from ..data_readers import Feed

    Labelled = tuple[Feed, NDArray[Any] | None]
    Run = Callable[[Feed], Sequence[Any]]


def top1(runs: Sequence[Run], samples: Iterable[Labelled]) -> tuple[list[int], int]:
    """How often the first output [N, classes] of each run is right, and how many rows have labels.

    Raises:
        CalibrationError: a label is none of the output's classes, or no output ranks classes.
    """
    right, rows = [0] * len(runs), 0
    for feed, labels in samples:
        if labels is None:
            continue
        rows += len(labels)
        for number, run in enumerate(runs):
            right[number] += among_best(run(feed), labels, 1)
    return right, rows


def among_best(outputs: Sequence[Any], labels: NDArray[Any], best: int) -> int:
    """How many rows of the first output that ranks classes have their label among the ``best`` largest entries.

    ``outputs`` are a sample's, of which one is [N, classes]; ``labels`` [N] are whole numbers from 0 on.

    Raises:
        CalibrationError: a label is none of the output's classes, or no output ranks classes.
    """
    scores = _scores(outputs, labels)
    rows = np.arange(len(labels))
    higher = np.sum(scores > scores[rows, labels][:, None], axis=1)
    # Of equal entries the first counts, as argmax takes it.
    before = np.sum((scores == scores[rows, labels][:, None]) & (np.arange(scores.shape[1]) < labels[:, None]), axis=1)
    return int(np.sum(higher + before < best))


def _scores(outputs: Sequence[Any], labels: NDArray[Any]) -> NDArray[Any]:
    """The output [N, classes], whatever axes of 1 it has behind."""
    for output in outputs:
        if isinstance(output, np.ndarray) and output.dtype.kind == "f" and output.ndim >= 2:
            scores = output.reshape(len(output), -1)
            if output.shape[1] == scores.shape[1] > 1 and len(scores) == len(labels):
                break
    else:
        raise CalibrationError("no output of the model ranks classes ([N, classes]), so labels cannot be compared")
    wrong = labels[(labels < 0) | (labels >= scores.shape[1])]
    if wrong.size:
        raise CalibrationError(
            f"the samples have the label {int(wrong[0])}, but the model's output has {scores.shape[1]} classes, from 0 "
            f"to {scores.shape[1] - 1}; do the class folders match the model?"
        )
    return scores
