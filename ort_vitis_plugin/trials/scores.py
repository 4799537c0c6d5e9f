"""What a candidate is worth: decibels of its worst part, agreement on classes, or whatever the caller measures."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MetricError, OptionError, suggest
from ..measure.evaluation import SQNR, TOP1, checked_score
from ..measure.top1 import top1

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnxruntime as ort
    from numpy.typing import NDArray
    from onnx import ModelProto

    from ..measure.judge import Judge

MOST = 150.0  # decibels: float32 itself is no nearer
Metric = str | Callable[[Any], float]
Score = Callable[["ModelProto", "ort.InferenceSession"], float]


def score_of(metric: Metric, judge: Judge, labels: Sequence[NDArray[Any] | None]) -> Score:
    """The function of a quantized model and its session that gives the score, higher being better.

    ``sqnr`` is the least decibels of any output or part; ``top1`` the share of rows that are right by their labels, or
    without labels the least share that agrees with float; a callable is given the session.

    Raises:
        OptionError: the metric is none of these.
    """
    if metric == SQNR:
        return lambda model, session: _decibels(judge, model, session)
    if metric == TOP1:
        if any(each is not None for each in labels):
            return lambda model, session: _right(judge, labels, session)
        return lambda model, session: _agreement(judge, model, session)
    if not callable(metric):
        hint = suggest(str(metric), (SQNR, TOP1))
        raise OptionError(f"metric takes 'sqnr', 'top1' or a function of a session, not {metric!r}{hint}")
    return lambda _, session: checked_score(metric, session)


def _decibels(judge: Judge, model: ModelProto, session: ort.InferenceSession) -> float:
    judgements = judge.compared(model, session)
    if not judgements:
        raise MetricError("no output holds floats of the same shape as the float model's; give a metric of your own")
    return float(np.clip(judgements[0].decibels, -MOST, MOST))


def _agreement(judge: Judge, model: ModelProto, session: ort.InferenceSession) -> float:
    shares = [each.agreement for each in judge.compared(model, session) if each.agreement is not None]
    if not shares:
        raise MetricError("metric='top1' without labels needs an output that ranks classes, and 20 rows of it")
    return min(shares)


def _right(judge: Judge, labels: Sequence[NDArray[Any] | None], session: ort.InferenceSession) -> float:
    runs = [lambda feed: session.run(None, feed)]
    (count,), rows = top1(runs, zip(judge.feeds, labels, strict=True))
    return count / rows
