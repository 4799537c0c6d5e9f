"""AdaQuant and AdaRound make a layer's output nearer, keep to its codes, and give the same twice."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install ort-vitis-plugin[torch]")

from ort_vitis_plugin.api import LayerProblem
from ort_vitis_torch.algorithms import ADAQUANT, ADAROUND
from ort_vitis_torch.rounding import adaquant, adaround

BOTH = [pytest.param(adaquant, ADAQUANT, id="adaquant"), pytest.param(adaround, ADAROUND, id="adaround")]


def problem(*, bias: bool, groups: int = 2, seed: int = 0) -> LayerProblem:
    """Inputs of few dimensions, which leave rounding much freedom; weights in steps of a half, at most one."""
    draw = np.random.default_rng(seed)
    weights = draw.uniform(-1, 1, (groups, 4, 12)).astype(np.float32)
    x = (draw.normal(size=(groups, 12, 3)) @ draw.normal(size=(groups, 3, 600)) + 1).astype(np.float32)
    x_q = x + draw.normal(size=x.shape).astype(np.float32) * np.float32(0.05)
    b = draw.normal(size=weights.shape[:2]).astype(np.float32) if bias else None
    step = np.full((1, 1, 1), 0.5)
    start = np.clip(np.rint(weights / 0.5), -2, 1).astype(np.int64)
    limits = (np.full((1, 1, 1), bound, np.int64) for bound in (-2, 1))
    return LayerProblem(weights, b, x, x_q, step, *limits, start, b, (0.0, 6.0), 3)


def error(asked: LayerProblem, codes: Any, bias: Any) -> float:
    def result(w: Any, x: Any, b: Any) -> Any:
        return np.clip(w @ x + (0 if b is None else b[:, :, None]), *asked.activation)

    off = result(asked.weights, asked.x_f, asked.bias) - result(codes * asked.step, asked.x_q, bias)
    return float(np.square(off).mean())


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("solve", "declared"), BOTH)
def test_outputs_come_nearer_within_the_codes(solve: Callable[..., Any], declared: Any, bias: bool) -> None:
    asked = problem(bias=bias)
    parameters = {**declared.parameters, "NumIterations": 200, "BatchSize": 64}
    codes, moved = solve(asked, parameters)
    assert codes.shape == asked.start.shape
    assert codes.min() >= -2
    assert codes.max() <= 1
    assert (moved is None) == (not bias)
    assert error(asked, codes, moved) < 0.7 * error(asked, asked.start, asked.start_bias)
    again, _ = declared.solve(asked, parameters)
    assert np.array_equal(codes, again)
