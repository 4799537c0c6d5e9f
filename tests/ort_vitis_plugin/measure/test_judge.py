"""One float model judges many candidates; what cannot be compared is a typed error."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math

import numpy as np
import pytest
from onnx import ModelProto

from ort_vitis_plugin.errors import ModelError
from ort_vitis_plugin.measure.judge import Judge
from ort_vitis_plugin.testing import graph

FEEDS = [{"x": np.random.default_rng(seed).standard_normal((1, 4)).astype(np.float32)} for seed in range(4)]


def model(factor: float = 1.0, name: str = "y") -> ModelProto:
    text = f"t (float[1, 4] x) => (float[1, 4] {name}, int64[2] n) {{ {name} = Mul(x, w)  n = Shape(x) }}"
    return graph(text, constants={"w": np.full(4, factor, np.float32)})


def test_candidates_are_told_apart_by_decibels() -> None:
    judge = Judge(model(), FEEDS)
    assert set(judge.reference) == {"y"}  # whole numbers are not judged
    (same,), (near,), (far,) = (judge.judgements(model(factor)) for factor in (1.0, 1.01, 2.0))
    assert same.decibels == math.inf
    assert near.decibels == pytest.approx(40, abs=0.1)
    assert far.decibels == pytest.approx(0, abs=0.1)
    assert near.objection is None
    assert far.objection is not None


def test_what_cannot_be_compared_is_named() -> None:
    judge = Judge(model(), FEEDS)
    with pytest.raises(ModelError, match="has no output 'y'"):
        judge.judgements(model(name="z"))
    broken = model()
    broken.graph.node[0].op_type = "Unheard"
    with pytest.raises(ModelError, match="cannot load the quantized model"):
        judge.judgements(broken)
