"""Each rule as two tables: positions that it leaves alone, and positions that it mends, with where they end."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest
from onnx import ModelProto

from ort_vitis_ipu.adjusters import ADJUSTERS
from ort_vitis_plugin.plan import Bound, Plan
from ort_vitis_plugin.plugin.declarations import Adjuster
from ort_vitis_plugin.solver import solve
from ort_vitis_plugin.testing import graph, plan

RULES: dict[str, Adjuster] = {rule.key: rule for rule in ADJUSTERS}

ADD = graph("t (float[2] a, float[2] b) => (float[2] y) { [n] y = Add(a, b) }")
SAME = graph("t (float[2] a) => (float[2] y) { [n] y = Add(a, a) }")
MUL = graph("t (float[2] a, float[2] b) => (float[2] y) { [n] y = Mul(a, b) }")
CONV = graph(
    "t (float[1, 1, 4, 4] x, float[1, 1, 1, 1] w, float[1] b) => (float[1, 1, 4, 4] y) { [n] y = Conv(x, w, b) }"
)
NO_BIAS = graph("t (float[1, 1, 4, 4] x, float[1, 1, 1, 1] w) => (float[1, 1, 4, 4] y) { [n] y = Conv(x, w) }")
GEMM = graph("t (float[1, 2] x, float[2, 3] w, float[3] b) => (float[1, 3] y) { [n] y = Gemm(x, w, b) }")
LEAKY = graph(
    """t (float[1, 1, 4, 4] x, float[1, 1, 1, 1] w, float[1] b) => (float[1, 1, 4, 4] z)
    { [n] y = Conv(x, w, b) z = LeakyRelu(y) }"""
)
RELU = graph(
    """t (float[1, 1, 4, 4] x, float[1, 1, 1, 1] w, float[1] b) => (float[1, 1, 4, 4] z)
    { [n] y = Conv(x, w, b) z = Relu(y) }"""
)
HARD = graph("t (float[2] x) => (float[2] y) { [n] y = HardSigmoid<alpha = 0.1666667>(x) }")
SOFT = graph("t (float[2] x) => (float[2] y) { [n] y = HardSigmoid<alpha = 0.2>(x) }")
SHIFTED = graph("t (float[2] x) => (float[2] y) { [n] y = HardSigmoid<alpha = 0.1666667, beta = 0.6>(x) }")
SWISH = graph("t (float[2] x) => (float[2] y) { h = HardSigmoid<alpha = 0.1666667>(x) [n] y = Mul(x, h) }")
HSIWS = graph("t (float[2] x) => (float[2] y) { h = HardSigmoid<alpha = 0.1666667>(x) [n] y = Mul(h, x) }")
GATE = graph("t (float[2] x, float[2] u) => (float[2] y) { h = HardSigmoid<alpha = 0.1666667>(u) [n] y = Mul(x, h) }")
CONCAT = graph("t (float[2] a, float[2] b, float[2] c) => (float[6] y) { [n] y = Concat<axis = 0>(a, b, c) }")
POOL = graph("t (float[1, 1, 4, 4] x) => (float[1, 1, 3, 3] y) { [n] y = MaxPool<kernel_shape = [2, 2]>(x) }")
GLOBAL = graph("t (float[1, 1, 4, 4] x) => (float[1, 1, 1, 1] y) { [n] y = GlobalAveragePool(x) }")
AVERAGE = graph("t (float[1, 1, 4, 4] x) => (float[1, 1, 3, 3] y) { [n] y = AveragePool<kernel_shape = [2, 2]>(x) }")


def bounds(key: str, planned: Plan) -> list[Bound]:
    node = next(node for node in planned.graph if node.name == "n")
    rule = RULES[key]
    return list(rule(planned, node)) if node.op_type in rule.ops else []


def settle(key: str, planned: Plan) -> dict[str, int]:
    solution = solve(planned.current(), {}, set(), bounds(key, planned))
    assert not solution.violations
    return solution.positions


LEFT_ALONE: list[tuple[str, str, ModelProto, dict[str, int]]] = [
    ("AdjustShiftRead", "7 apart", ADD, {"a": 8, "b": 1, "y": 0}),
    ("AdjustShiftRead", "the same tensor twice", SAME, {"a": 8, "y": 0}),
    ("AdjustShiftRead", "an input without position", ADD, {"a": 20, "y": 0}),
    ("AdjustShiftRead", "a product", MUL, {"a": 20, "b": 0, "y": 0}),
    ("AdjustShiftWrite", "sum, lower limit", ADD, {"a": 3, "b": 5, "y": 10}),
    ("AdjustShiftWrite", "sum, upper limit", ADD, {"a": 30, "b": 25, "y": 0}),
    ("AdjustShiftWrite", "sum, an input without position", ADD, {"a": 0, "y": 20}),
    ("AdjustShiftWrite", "product, lower limit", MUL, {"a": 3, "b": 4, "y": 7}),
    ("AdjustShiftWrite", "product, upper limit", MUL, {"a": 20, "b": 12, "y": 0}),
    ("AdjustShiftWrite", "product, output without position", MUL, {"a": 20, "b": 20}),
    ("AdjustShiftCut", "lower limit", CONV, {"x": 2, "w": 3, "y": 5}),
    ("AdjustShiftCut", "upper limit", GEMM, {"x": 10, "w": 11, "y": 5}),
    ("AdjustShiftCut", "weight without position", CONV, {"x": 30, "y": 0}),
    ("AdjustShiftBias", "upper limit", CONV, {"x": 10, "w": 9, "b": 4, "y": 5}),
    ("AdjustShiftBias", "lower limit, cut 7 allows -9", CONV, {"x": 5, "w": 7, "b": 21, "y": 5}),
    ("AdjustShiftBias", "lower limit, cut 16 allows 0", CONV, {"x": 10, "w": 11, "b": 21, "y": 5}),
    ("AdjustShiftBias", "before LeakyRelu", LEAKY, {"x": 5, "w": 7, "b": 12, "y": 5, "z": 5}),
    ("AdjustShiftBias", "no bias", NO_BIAS, {"x": 5, "w": 30, "y": 5}),
    ("AdjustShiftBias", "float bias", GEMM, {"x": 5, "w": 30, "y": 5}),
    ("AdjustHardSigmoid", "within", HARD, {"x": 4, "y": 7}),
    ("AdjustHardSigmoid", "upper limits", HARD, {"x": 15, "y": 29}),
    ("AdjustHardSigmoid", "lower limits", HARD, {"x": 0, "y": 14}),
    ("AdjustHardSigmoid", "alpha 0.2 stays float", SOFT, {"x": -3, "y": 0}),
    ("AdjustHardSigmoid", "beta 0.6 stays float", SHIFTED, {"x": -3, "y": 0}),
    ("AdjustShiftSwish", "lower limit", SWISH, {"x": 4, "h": 7, "y": 11}),
    ("AdjustShiftSwish", "upper limit", SWISH, {"x": 8, "h": 9, "y": 2}),
    ("AdjustShiftSwish", "gated by something else", GATE, {"x": 8, "h": 9, "u": 1, "y": -5}),
    ("AdjustShiftSwish", "a plain product", MUL, {"a": 8, "b": 9, "y": -5}),
    ("AlignConcat", "equal", CONCAT, {"a": 4, "b": 4, "c": 4, "y": 4}),
    ("AlignConcat", "output without position", CONCAT, {"a": 4, "b": 3, "c": 1}),
    ("AlignPool", "equal", POOL, {"x": 3, "y": 3}),
    ("AlignPool", "input without position", POOL, {"y": 3}),
    ("AlignPool", "a sum", ADD, {"a": 3, "b": 2, "y": 1}),
]

MENDED: list[tuple[str, str, ModelProto, dict[str, int], dict[str, int]]] = [
    ("AdjustShiftRead", "the finer input comes down", ADD, {"a": 9, "b": 1, "y": 0}, {"a": 8}),
    ("AdjustShiftRead", "the other one", ADD, {"a": -2, "b": 7, "y": 0}, {"b": 5}),
    ("AdjustShiftWrite", "sum, too fine an output", ADD, {"a": 3, "b": 5, "y": 12}, {"y": 10}),
    ("AdjustShiftWrite", "sum, too coarse an output", ADD, {"a": 30, "b": 27, "y": 0}, {"y": 2}),
    ("AdjustShiftWrite", "product, too fine an output", MUL, {"a": 3, "b": 4, "y": 9}, {"y": 7}),
    ("AdjustShiftWrite", "product, too coarse an output", MUL, {"a": 20, "b": 15, "y": 0}, {"y": 3}),
    ("AdjustShiftCut", "too fine a weight", CONV, {"x": 10, "w": 13, "y": 5}, {"w": 11}),
    ("AdjustShiftCut", "too coarse a weight", GEMM, {"x": 2, "w": 1, "y": 5}, {"w": 3}),
    ("AdjustShiftCut", "the Relu's output counts", RELU, {"x": 10, "w": 13, "z": 5}, {"w": 11}),
    ("AdjustShiftBias", "too coarse a bias", CONV, {"x": 10, "w": 9, "b": 2, "y": 5}, {"b": 4}),
    ("AdjustShiftBias", "too fine a bias", CONV, {"x": 5, "w": 7, "b": 24, "y": 5}, {"b": 21}),
    ("AdjustShiftBias", "before LeakyRelu", LEAKY, {"x": 5, "w": 7, "b": 15, "y": 5, "z": 5}, {"b": 12}),
    ("AdjustShiftBias", "Gemm", GEMM, {"x": 10, "w": 9, "b": 2, "y": 5}, {"b": 4}),
    ("AdjustHardSigmoid", "coarse output", HARD, {"x": 4, "y": 5}, {"y": 7}),
    ("AdjustHardSigmoid", "coarse input", HARD, {"x": -2, "y": 7}, {"x": 0}),
    ("AdjustHardSigmoid", "fine input", HARD, {"x": 18, "y": 7}, {"x": 15}),
    ("AdjustHardSigmoid", "fine output", HARD, {"x": 2, "y": 20}, {"y": 16}),
    ("AdjustShiftSwish", "too fine an output", SWISH, {"x": 4, "h": 7, "y": 13}, {"y": 11}),
    ("AdjustShiftSwish", "factors swapped", HSIWS, {"x": 10, "h": 9, "y": 2}, {"y": 4}),
    ("AlignConcat", "all to the coarsest", CONCAT, {"a": 6, "b": 4, "c": 5, "y": 7}, {"a": 4, "c": 4, "y": 4}),
    ("AlignConcat", "parts without position do not count", CONCAT, {"a": 6, "y": 3}, {"a": 3}),
    ("AlignPool", "output finer", POOL, {"x": 3, "y": 5}, {"y": 3}),
    ("AlignPool", "input finer", GLOBAL, {"x": 5, "y": 3}, {"x": 3}),
    ("AlignPool", "average", AVERAGE, {"x": 5, "y": 6}, {"y": 5}),
]


def planned(model: ModelProto, positions: dict[str, int]) -> Plan:
    made = plan(model, positions)
    if model is RELU:
        made.fused["y"] = "z"
    return made


@pytest.mark.parametrize(("key", "case", "model", "positions"), LEFT_ALONE, ids=lambda value: str(value)[:40])
def test_leaves_alone(key: str, case: str, model: ModelProto, positions: dict[str, int]) -> None:
    assert settle(key, planned(model, positions)) == positions


@pytest.mark.parametrize(("key", "case", "model", "positions", "moved"), MENDED, ids=lambda value: str(value)[:40])
def test_mends(key: str, case: str, model: ModelProto, positions: dict[str, int], moved: dict[str, int]) -> None:
    assert settle(key, planned(model, positions)) == positions | moved


def test_order_and_defaults() -> None:
    assert list(RULES) == [
        "AdjustShiftRead",
        "AdjustShiftWrite",
        "AdjustShiftCut",
        "AdjustShiftBias",
        "AdjustHardSigmoid",
        "AdjustShiftSwish",
        "AlignConcat",
        "AlignPool",
    ]
    assert all(rule.option.default is True and rule.option.needs == "IPULimitationCheck" for rule in ADJUSTERS)


def test_shift_bias_lower_limit_follows_the_cut() -> None:
    """For every cut within 0..16: min(0, -(24 - (8 + cut))) <= wpos + ipos - bpos."""
    for cut in range(17):
        x, w, y = 5, 7, 12 - cut
        lowest = min(0, -(24 - (8 + cut)))
        for shift in range(-20, 20):
            made = plan(CONV, {"x": x, "w": w, "y": y, "b": x + w - shift})
            held = all(bound.excess(made.current()) == 0 for bound in bounds("AdjustShiftBias", made))
            assert held == (lowest <= shift <= 15), (cut, shift)


def test_swish_looks_through_the_simulated_factor() -> None:
    model = graph(
        """t (float[2] x) => (float[2] y)
        { m = HardSigmoid<alpha = 0.1666667>(x) [f] h = Mul(m, x) [n] y = Mul(x, h) }"""
    )
    made = plan(model, {"x": 4, "h": 7, "y": 13})
    made.graph.device_output["m"] = "h"
    made.graph.device_nodes.add("f")
    assert settle("AdjustShiftSwish", made)["y"] == 11


def test_shift_write_ignores_the_simulated_factor() -> None:
    made = plan(MUL, {"a": 20, "b": 20, "y": 0})
    made.graph.device_nodes.add("n")
    assert bounds("AdjustShiftWrite", made) == []


def test_align_pool_looks_through_the_fused_pad() -> None:
    model = graph(
        """t (float[1, 1, 4, 4] x, int64[8] pads) => (float[1, 1, 4, 4] y)
        { p = Pad(x, pads) [n] y = AveragePool<kernel_shape = [3, 3]>(p) }"""
    )
    made = plan(model, {"x": 5, "y": 3})
    made.fused["p"] = "y"
    assert settle("AlignPool", made) == {"x": 3, "y": 3}


def test_a_shared_tensor_has_one_position() -> None:
    made = plan(ADD, {"a": 9, "b": 1, "y": 0})
    made.share("y", "a")
    assert settle("AdjustShiftRead", made) == {"a": 8, "b": 1}
