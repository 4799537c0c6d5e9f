"""Each rule, simulation and step for the NPU acts unless its switch says otherwise."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ort_vitis_plugin as vitis
from ort_vitis_plugin.testing import graph
from tests.ort_vitis_plugin.entry.argument_networks import (
    arrays,
    normal,
    pairs,
    quantize,
)

Draw = Callable[[int], dict[str, Any]]
SHAPE = (1, 4, 8, 8)


def plain(seed: int) -> dict[str, Any]:
    """N(0, 1) in x and z."""
    rng = np.random.default_rng(seed)
    return {name: rng.standard_normal(SHAPE).astype(np.float32) for name in "xz"}


def apart(seed: int) -> dict[str, Any]:
    """x is large where z is small, and the other way round: their product is small everywhere."""
    feed = plain(seed)
    large = np.arange(256).reshape(SHAPE) % 2 == 0
    return {
        "x": np.where(large, 100 * feed["x"], 1e-4 * feed["x"]).astype(np.float32),
        "z": np.where(large, 1e-4 * feed["z"], 100 * feed["z"]).astype(np.float32),
    }


def negative(seed: int) -> dict[str, Any]:
    """Hardly above 0, or far below it."""
    feed = plain(seed)
    return {**feed, "x": np.where(feed["x"] > 0, 0.03, -100 - feed["x"]).astype(np.float32)}


# A graph, and samples, with which the rule has to move something.
BROKEN: dict[str, tuple[str, Draw]] = {
    "AdjustShiftCut": ("h = Conv(x, tiny, huge) y = Add(h, z)", plain),
    "AdjustShiftBias": ("h = Conv(x, tiny, huge) y = Add(h, z)", plain),
    "AdjustShiftRead": ("h = Mul(x, little) y = Add(h, z)", plain),
    "AdjustShiftWrite": ("y = Mul(x, z)", apart),
    "AdjustHardSigmoid": ("h = Mul(x, much) y = HardSigmoid<alpha = 0.16666667>(h)", plain),
    "AdjustShiftSwish": ("h = HardSigmoid<alpha = 0.16666667>(x) y = Mul(x, h)", negative),
    "AlignConcat": ("h = Mul(x, some) y = Concat<axis = 1>(h, z)", plain),  # far more would ruin z: the rule gives way
    "AlignPool": ("h = Relu(x) y = GlobalAveragePool(h)", plain),
}


def rule_moves(key: str, **options: Any) -> set[str]:
    """Names of the rules that moved something."""
    text, draw = BROKEN[key]
    constants = {
        "tiny": normal(4, 4, 1, 1) * np.float32(1e-4),
        "huge": np.float32([60, -60, 30, -30]),
        "much": np.array(60, np.float32),
        "some": np.array(8, np.float32),
        "little": np.array(1 / 4000, np.float32),
    }
    used = {name: value for name, value in constants.items() if name in text}
    inputs = ", ".join(f"float[1, 4, 8, 8] {name}" for name in "xz" if name in text.replace("axis", ""))
    model = graph(f"t ({inputs}) => (float[] y) {{ {text} }}", constants=used)
    names = {value.name for value in model.graph.input}
    feeds = [{name: array for name, array in draw(seed).items() if name in names} for seed in range(4)]
    result = quantize(model, feeds, enable_dpu=True, optimize_model=False, extra_options=options)
    return {rule for move in result.report.moves for rule in move.rules}


@pytest.mark.option("AdjustShiftCut", "AdjustShiftBias", "AdjustShiftRead", "AdjustShiftWrite")
@pytest.mark.option("AdjustHardSigmoid", "AdjustShiftSwish", "AlignConcat", "AlignPool")
@pytest.mark.parametrize("key", BROKEN)
def test_a_rule_acts_unless_switched_off(key: str) -> None:
    assert key in rule_moves(key)
    assert key not in rule_moves(key, **{key: False})


@pytest.mark.option("IPULimitationCheck")
@pytest.mark.parametrize("key", ["IPULimitationCheck", "NPULimitationCheck"])
def test_one_switch_for_all_rules(key: str) -> None:
    assert rule_moves("AlignConcat", **{key: False}) == set()


SIMULATED = {
    "ConvertLeakyReluToDPUVersion": "y = LeakyRelu<alpha = 0.1>(x)",
    "ConvertSigmoidToHardSigmoid": "y = Sigmoid(x)",
    "ConvertHardSigmoidToDPUVersion": "y = HardSigmoid<alpha = 0.16666667>(x)",
    "ConvertAvgPoolToDPUVersion": "y = AveragePool<kernel_shape = [3, 3]>(x)",
    "ConvertReduceMeanToDPUVersion": "y = ReduceMean<axes = [2, 3]>(x)",
}


@pytest.mark.option("ConvertLeakyReluToDPUVersion", "ConvertSigmoidToHardSigmoid", "ConvertHardSigmoidToDPUVersion")
@pytest.mark.option("ConvertAvgPoolToDPUVersion", "ConvertReduceMeanToDPUVersion")
@pytest.mark.parametrize("key", SIMULATED)
def test_a_simulation_runs_unless_switched_off(key: str) -> None:
    model = graph(f"t (float[1, 4, 6, 6] x) => (float[] y) {{ {SIMULATED[key]} }}")
    known = {"enable_dpu": True, "optimize_model": False}
    options = {"ConvertReduceMeanToGlobalAvgPool": False}
    assert key in quantize(model, extra_options=options, **known).report.transforms
    assert key not in quantize(model, extra_options={**options, key: False}, **known).report.transforms


@pytest.mark.option("RemoveQDQConvPRelu")
def test_prelu_fuses_on_request() -> None:
    model = graph(
        "t (float[1, 4, 8, 8] x) => (float[] y) { h = Conv(x, v) y = PRelu(h, s) }",
        constants={"v": normal(4, 4, 1, 1), "s": np.abs(normal(4, 1, 1))},
    )
    for flag in (False, True):
        found = pairs(quantize(model, enable_dpu=True, extra_options={"RemoveQDQConvPRelu": flag}))
        assert ("h" in found) != flag


@pytest.mark.option("CLETotalLayerDiffThreshold")
def test_equalization_stops_where_little_changes() -> None:
    model = graph(
        "t (float[1, 4, 8, 8] x) => (float[] y)"
        "{ a = Conv(x, w) b = Relu(a) c = Conv(b, u) d = Relu(c) y = Conv(d, v) }",
        constants={"w": normal(8, 4, 1, 1), "u": normal(8, 8, 1, 1), "v": normal(8, 8, 1, 1)},
    )

    def scales(**options: Any) -> list[float]:
        result = quantize(
            model,
            calibrate_method=vitis.CalibrationMethod.MinMax,
            include_cle=True,
            extra_options={"CLEScaleUseThreshold": False, **options},
        )
        return [float(arrays(result)[f"{name}_scale"]) for name in "wuv"]

    once = scales(CLESteps=1)
    assert scales(CLESteps=-1, CLETotalLayerDiffThreshold=1e9) == once
    assert scales(CLESteps=-1, CLETotalLayerDiffThreshold=1e-6) != once
