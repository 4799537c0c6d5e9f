"""A score is a finite number, higher being better, or the reason why there is none."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from ort_vitis_plugin.errors import MetricError, OptionError
from ort_vitis_plugin.measure.judge import Judge
from ort_vitis_plugin.testing import graph
from ort_vitis_plugin.trials.scores import MOST, score_of

DRAW = np.random.default_rng(0)
FEEDS = [{"x": DRAW.standard_normal((25, 3)).astype(np.float32)} for _ in range(2)]


def model(factor: float = 1.0) -> ModelProto:
    text = "t (float[25, 3] x) => (float[25, 3] y) { y = Mul(x, w) }"
    return graph(text, constants={"w": np.full(3, factor, np.float32)})


def score(metric: Any, candidate: ModelProto, labels: Any = (None, None)) -> float:
    judge = Judge(model(), FEEDS)
    return score_of(metric, judge, labels)(candidate, judge.session(candidate))


def test_decibels_are_finite() -> None:
    assert score("sqnr", model()) == MOST
    assert score("sqnr", model(1.1)) == pytest.approx(20, abs=0.1)


def test_classes_by_agreement_and_by_labels() -> None:
    assert score("top1", model(2.0)) == 1.0
    assert score("top1", model(-1.0)) < 0.1
    labels = [feed["x"].argmax(1) for feed in FEEDS]
    assert score("top1", model(2.0), labels) == 1.0
    assert score("top1", model(2.0), [labels[0], None]) == 1.0


def test_a_function_is_given_the_session() -> None:
    assert score(lambda session: len(session.get_outputs()), model()) == 1


def test_what_is_no_metric_is_told() -> None:
    with pytest.raises(OptionError, match="did you mean sqnr"):
        score_of("sqrn", SimpleNamespace(), [])  # type: ignore[arg-type]
    counts = graph("t (float[25, 3] x) => (int64[2] y) { y = Shape(x) }")
    judge = Judge(counts, FEEDS)
    with pytest.raises(MetricError, match="give a metric of your own"):
        score_of("sqnr", judge, [])(counts, judge.session(counts))
