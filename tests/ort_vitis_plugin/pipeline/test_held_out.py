"""Judges are spread evenly over the samples, and tell a float model from a worse one."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from ort_vitis_plugin.pipeline.corrections import FEWEST
from ort_vitis_plugin.pipeline.held_out import MOST_JUDGES, HeldOut, judges_of
from ort_vitis_plugin.testing import graph, plain_context


def call(samples: int) -> Any:
    return SimpleNamespace(samples=SimpleNamespace(again=lambda: iter(range(samples))))


@pytest.mark.parametrize("samples", [FEWEST, 16, 33, 1000])
def test_judges_reach_from_the_first_to_the_last(samples: int) -> None:
    found: list[Any] = judges_of(call(samples), samples)
    assert len(found) == min(max(samples // 4, 2), MOST_JUDGES)
    assert (found[0], found[-1]) == (0, samples - 1)
    gaps = np.diff(found)
    assert gaps.max() - gaps.min() <= 1


def test_few_samples_judge_nothing() -> None:
    assert judges_of(call(FEWEST - 1), FEWEST - 1) == []


def test_the_float_model_has_no_error_and_others_have_theirs() -> None:
    def model(factor: float) -> ModelProto:
        text = "t (float[4, 3] x) => (float[4, 3] y) { y = Mul(x, w) }"
        return graph(text, constants={"w": np.full(3, factor, np.float32)})

    feeds = [{"x": np.random.default_rng(seed).standard_normal((4, 3)).astype(np.float32)} for seed in range(3)]
    judge = HeldOut(plain_context(), model(1.0), feeds)
    assert judge.error_of(model(1.0)).mean == 0
    assert judge.error_of(model(1.1)).mean == pytest.approx(0.01, rel=1e-3)
