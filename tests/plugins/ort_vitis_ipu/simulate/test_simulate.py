"""Each simulation against its own formula in numpy, in every opset's spelling, with ORT's optimization off and on."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from onnx import ModelProto

from ort_vitis_ipu.simulate.reciprocal import mean_factor, pool_factor
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import LEVELS, check_transform, op_types, plain_context, random_feeds, run_model

from .steps import (
    HARD,
    LEAKY,
    MEAN,
    OPSETS,
    POOL,
    SIGMOID,
    SOFTMAX,
    STEPS,
    Array,
    infer_output,
    model,
    reduce_mean,
    simulate,
)

# ---------------------------------------------------------------- the table of constants

POOL_FACTORS = {
    1: 1.0,
    2: 1.0,
    3: 0.984375,
    4: 1.0,
    5: 0.9765625,
    6: 0.984375,
    7: 1.0048828125,
    8: 1.0,
    9: 0.9986572265625,
    10: 1.0009765625,
    11: 1.00439453125,
    12: 1.001953125,
    13: 1.00054931640625,
    14: 1.0048828125,
    15: 1.00250244140625,
    16: 1.0,
    20: 1.0009765625,
    24: 1.001953125,
    28: 1.0048828125,
    32: 1.0,
    56: 1.0048828125,
    112: 1.0048828125,
    255: 1.0077059268951416,
    256: 1.0,
}


@pytest.mark.parametrize(("side", "factor"), POOL_FACTORS.items())
def test_pool_factor(side: int, factor: float) -> None:
    assert pool_factor((side, side)) == factor


@pytest.mark.parametrize(
    ("kernel", "factor"),
    [
        ((3, 5), 15 * 68 / 2**10),
        ((1, 7), 7 * 73 / 2**9),
        ((9,), 9 * 57 / 2**9),
        ((300, 2), 1.0),
        ((3, 3, 3), 27 * 19 / 2**9),
    ],
)
def test_pool_factor_of_other_windows(kernel: tuple[int, ...], factor: float) -> None:
    assert pool_factor(kernel) == factor


@pytest.mark.parametrize("number", [1, 2, 3, 7, 9, 49, 100, 1000, 4096, 50176])
def test_mean_factor_is_the_nearest_that_the_shift_allows(number: int) -> None:
    shifts = range(7 + int(np.ceil(np.log2(number))))
    best = min(abs(round(2**shift / number) / 2**shift - 1 / number) for shift in shifts)
    assert abs(mean_factor(number) - 1) == pytest.approx(best * number, abs=1e-12)


# ---------------------------------------------------------------- LeakyRelu

LEAKY_SLOPES = {"<alpha = 0.1>": 26 / 256, "": 3 / 256, "<alpha = 0.3>": 77 / 256, "<alpha = 1.5>": 1.5}


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize(("written", "slope"), LEAKY_SLOPES.items())
def test_leaky_relu(written: str, slope: float, opset: int) -> None:
    source = model(f"t (float[40] x) => (float[40] y) {{ y = LeakyRelu{written}(x) }}", opset)
    x = random_feeds(source)["x"]
    for _, simulated in simulate(LEAKY, source):
        np.testing.assert_array_equal(simulated, np.where(x < 0, x * np.float32(slope), x))


# ---------------------------------------------------------------- Sigmoid, HardSigmoid


@pytest.mark.parametrize("opset", OPSETS)
def test_sigmoid(opset: int) -> None:
    source = model("t (float[40] x) => (float[40] y) { y = Sigmoid(x) }", opset)
    x = random_feeds(source)["x"] * np.float32(4)
    result = check_transform(STEPS[SIGMOID], source)
    for level in LEVELS:
        found = run_model(result, {"x": x}, level)["y"]
        np.testing.assert_allclose(found, np.clip(x / 6 + 0.5, 0, 1), atol=1e-6)


@pytest.mark.parametrize("opset", OPSETS)
def test_hard_sigmoid(opset: int) -> None:
    source = model("t (float[40] x) => (float[40] y) { y = HardSigmoid<alpha = 0.1666667>(x) }", opset)
    for plain, simulated in simulate(HARD, source):
        np.testing.assert_allclose(simulated, plain * np.float32(1.0001220703125), rtol=1e-6)


# ---------------------------------------------------------------- pools

POOLS = {
    "3x3": ("AveragePool<kernel_shape = [3, 3]>(x)", 0.984375),
    "7x7": ("AveragePool<kernel_shape = [7, 7], strides = [2, 2]>(x)", 1.0048828125),
    "3x5": ("AveragePool<kernel_shape = [3, 5]>(x)", pool_factor((3, 5))),
    "padded": ("AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(x)", 0.984375),
    "padded, counted": (
        "AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 1>(x)",
        0.984375,
    ),
    "automatic padding": ('AveragePool<kernel_shape = [5, 5], auto_pad = "SAME_UPPER">(x)', 0.9765625),
    "rounded up": ("AveragePool<kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1>(x)", 0.984375),
    "global 14x10": ("GlobalAveragePool(x)", mean_factor(140)),
}


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("case", POOLS)
def test_avg_pool(case: str, opset: int) -> None:
    call, factor = POOLS[case]
    source = infer_output(model(f"t (float[2, 3, 14, 10] x) => (float y) {{ y = {call} }}", opset))
    for plain, simulated in simulate(POOL, source):
        np.testing.assert_allclose(simulated, plain * np.float32(factor), rtol=1e-6)


def test_global_average_of_one_and_three_dimensions() -> None:
    for shape, number in (("2, 3, 9", 9), ("2, 3, 3, 3, 3", 27)):
        source = infer_output(model(f"t (float[{shape}] x) => (float y) {{ y = GlobalAveragePool(x) }}"))
        for plain, simulated in simulate(POOL, source):
            np.testing.assert_allclose(simulated, plain * np.float32(mean_factor(number)), rtol=1e-6)


# ---------------------------------------------------------------- ReduceMean


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize(("axes", "number"), [([2, 3], 20), ([-1], 5), ([1, -2], 12), (None, 120)])
def test_reduce_mean(axes: list[int] | None, number: int, opset: int) -> None:
    if axes is not None and min(axes) < 0 and opset < 11:
        pytest.skip("negative axes came with opset 11")
    for keep in (0, 1):
        for plain, simulated in simulate(MEAN, reduce_mean(axes, opset, keepdims=keep)):
            np.testing.assert_allclose(simulated, plain * np.float32(mean_factor(number)), rtol=1e-6)


# ---------------------------------------------------------------- Softmax


def rounded(values: Array) -> Array:
    return values.astype(ml_dtypes.bfloat16).astype(np.float32)


def softmax_of_the_dpu(x: Array, axes: tuple[int, ...]) -> Array:
    x = rounded(x)
    n = np.floor(x * np.float32(1.4426950408889634))
    r = rounded(x - n * np.float32(0.6931471805599453))
    p = rounded(np.float32(0.21875) * r + np.float32(0.486328125))
    p = rounded(p * r + np.float32(1))
    p = rounded(p * r + np.float32(1))
    e = rounded(np.exp2(n) * p)
    return rounded(e / rounded(np.sum(e, axis=axes, keepdims=True, dtype=np.float32)))


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize(
    ("written", "old", "new"), [("<axis = 1>", (1, 2), (1,)), ("<axis = -1>", (2,), (2,)), ("", (1, 2), (2,))]
)
def test_softmax(written: str, old: tuple[int, ...], new: tuple[int, ...], opset: int) -> None:
    if written == "<axis = -1>" and opset < 11:
        pytest.skip("negative axes came with opset 11")
    source = model(f"t (float[3, 7, 5] x) => (float[3, 7, 5] y) {{ y = Softmax{written}(x) }}", opset)
    x = random_feeds(source)["x"] * np.float32(4)
    wanted = softmax_of_the_dpu(x, old if opset < 13 else new)
    result = check_transform(STEPS[SOFTMAX], source)
    assert "Softmax" not in op_types(result)
    for level in LEVELS:
        found = run_model(result, {"x": x}, level)["y"]
        np.testing.assert_allclose(found, wanted, rtol=2**-7)
        assert np.mean(found == wanted) > 0.99
        np.testing.assert_allclose(found, run_model(source, {"x": x})["y"], atol=0.02)


@pytest.mark.parametrize("opset", [11, 13])
def test_bfloat16_rounding_is_exact(opset: int) -> None:
    """Ties, powers of two, zero and random bit patterns, through the nodes that the simulation adds."""
    from ort_vitis_ipu.simulate.bfloat16 import Steps

    patterns = np.arange(0x20000000, 0x5E000000, 7919, dtype=np.uint32)
    ties = (np.arange(0x3F800000, 0x3F900000, 0x8000, dtype=np.uint32)).view(np.float32)
    x = np.concatenate([patterns.view(np.float32), -patterns.view(np.float32), ties, np.zeros(1, np.float32)])
    edited = Graph(model("t (float[N] x) => (float[N] y) { y = Abs(x) }", opset))
    source = edited.producer("y")
    assert source is not None
    edited.remove(source)
    steps = Steps(edited, "y")
    steps.round("x")
    steps.finish("end")
    for level in LEVELS:
        found = run_model(edited.to_model(), {"x": x}, level)["y"]
        np.testing.assert_array_equal(found, rounded(x))


# ---------------------------------------------------------------- what stays

LEFT_ALONE: dict[str, tuple[str, ModelProto]] = {
    "slope of 8 bits": (LEAKY, model("t (float[4] x) => (float[4] y) { y = LeakyRelu<alpha = 0.25>(x) }")),
    "another alpha": (HARD, model("t (float[4] x) => (float[4] y) { y = HardSigmoid(x) }")),
    "another beta": (
        HARD,
        model("t (float[4] x) => (float[4] y) { y = HardSigmoid<alpha = 0.1666667, beta = 0.4>(x) }"),
    ),
    "log of a sigmoid": (SIGMOID, model("t (float[4] x) => (float[4] y) { s = Sigmoid(x) y = Log(s) }")),
    "log of a moved sigmoid": (
        SIGMOID,
        model("t (float[4, 2] x) => (float[2, 4] y) { s = Sigmoid(x) r = Transpose(s) y = Log(r) }"),
    ),
    "quotient by a sigmoid": (SIGMOID, model("t (float[4] x) => (float[4] y) { s = Sigmoid(x) y = Div(x, s) }")),
    "2x2 is exact": (
        POOL,
        model("t (float[1, 1, 4, 4] x) => (float[1, 1, 3, 3] y) { y = AveragePool<kernel_shape = [2, 2]>(x) }"),
    ),
    "size not known": (
        POOL,
        model("t (float[1, 1, H, W] x) => (float[1, 1, 1, 1] y) { y = GlobalAveragePool(x) }"),
    ),
    "averaged size not known": (
        MEAN,
        model("t (float[1, 3, N] x) => (float[1, 3] y) { y = ReduceMean<axes = [2], keepdims = 0>(x) }"),
    ),
    "nothing averaged": (MEAN, reduce_mean(None, 18, noop_with_empty_axes=1)),
    "axes computed": (
        MEAN,
        model("t (float[1, 3, 9] x, int64[1] a) => (float[1, 3, 1] y) { y = ReduceMean(x, a) }", 18),
    ),
    "half precision": (SOFTMAX, model("t (float16[2, 4] x) => (float16[2, 4] y) { y = Softmax(x) }")),
}


@pytest.mark.parametrize("case", LEFT_ALONE)
def test_leaves_alone(case: str) -> None:
    key, source = LEFT_ALONE[case]
    edited = Graph(source)
    assert STEPS[key](edited, plain_context()) == 0
    assert op_types(edited.to_model()) == op_types(source)


@pytest.mark.parametrize("case", ["another alpha", "size not known", "averaged size not known", "half precision"])
def test_says_why(case: str) -> None:
    key, source = LEFT_ALONE[case]
    edited = Graph(source)
    STEPS[key](edited, plain_context())
    assert [skip.step for skip in edited.skips] == [key]
