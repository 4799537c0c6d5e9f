"""Floats that decide, count, place or turn are no data for codes; what they are made of by products still is."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_plugin import quantize_static

from .checks import CONFIGURATIONS, Build, assert_close, model, nodes, quantized, samples, weights, with_configurations

HEAD = "h = MatMul(x, w) "
IMAGE = "(float[1, 3, 8, 8] x)"
DECIDING: dict[str, Build] = {
    "a count": lambda: model(
        "t (float[4, 8] x) => (float[4, 8] y, int64[4] n) "
        "{ h = MatMul(x, w) s = Softplus(h) r = ReduceSum<keepdims = 0>(s, last) m = Mul(r, k) "
        "n = Cast<to = 7>(m) y = Relu(h) }",
        {"w": weights(1, 8, 8), "last": np.array([1], np.int64), "k": 40.0},
    ),
    "a comparison": lambda: model(
        "t (float[4, 8] x) => (float[4, 8] y) "
        "{ h = MatMul(x, w) d = Sub(h, k) m = Abs(d) c = Less(m, eps) y = Where(c, h, x) }",
        {"w": weights(1, 8, 8), "k": 0.1, "eps": 0.005},
    ),
    "a sign": lambda: model(
        "t (float[4, 8] x, float[4, 8] z) => (float[4, 8] y) "
        "{ a = Sub(z, k) s = Sign(a) h = MatMul(x, w) y = Mul(h, s) }",
        {"w": weights(1, 8, 8), "k": np.linspace(-2, 2, 8, dtype=np.float32)},
    ),
    "an index": lambda: model(
        "t (float[4, 8] x) => (float[4, 8] y) "
        "{ m = ReduceMax<axes = [1], keepdims = 0>(x) q = Mul(m, k) f = Floor(q) p = Clip(f, low, high) "
        "i = Cast<to = 7>(p) g = Gather(table, i) y = MatMul(g, w) }",
        {"w": weights(1, 8, 8), "table": weights(2, 64, 8), "k": 20.0, "low": 0.0, "high": 63.0},
        opset=13,
    ),
    "a remainder": lambda: model(
        "t (float[4, 8] x) => (float[4, 8] y) { a = Mul(x, k) m = Mod<fmod = 1>(a, one) y = MatMul(m, w) }",
        {"w": weights(1, 8, 8), "k": 50.0, "one": 1.0},
    ),
    "a fraction": lambda: model(
        "t (float[4, 8] x) => (float[4, 8] y) { a = Mul(x, k) f = Floor(a) m = Sub(a, f) y = MatMul(m, w) }",
        {"w": weights(1, 8, 8), "k": 50.0},
    ),
    "a fraction by integers": lambda: model(
        "t (float[4, 8] x) => (float[4, 8] y) "
        "{ a = Mul(x, k) i = Cast<to = 7>(a) f = Cast<to = 1>(i) m = Sub(a, f) y = MatMul(m, w) }",
        {"w": weights(1, 8, 8), "k": 50.0},
    ),
    "a step": lambda: model(
        "t (float[4, 8] x) => (float[4, 8] y) { a = Mul(x, k) f = Round(a) d = Div(f, k) y = MatMul(d, w) }",
        {"w": weights(1, 8, 8), "k": 50.0},
    ),
}
READS = {"a count": ("Cast", "m"), "a comparison": ("Less", "m"), "a sign": ("Sign", "a"), "an index": ("Cast", "p")}
READS |= {"a remainder": ("Mod", "a"), "a fraction": ("Sub", "a"), "a step": ("Round", "a")}
READS |= {"a fraction by integers": ("Sub", "a")}
FROM_INPUTS = {"a sign", "a remainder", "a fraction", "a fraction by integers", "a step"}
ANGLES: dict[str, Build] = {
    "rotary": lambda: model(
        "t (float[1, 64, 32] x) => (float[1, 64, 32] y) "
        "{ t = Mul(position, rates) a = Concat<axis = -1>(t, t) c = Cos(a) s = Sin(a) h = MatMul(x, w) "
        "p = Mul(h, c) r = Mul(h, s) y = Add(p, r) }",
        {
            "position": np.arange(64, dtype=np.float32).reshape(1, 64, 1),
            "rates": (10000.0 ** -(np.arange(16) / 16)).astype(np.float32),
            "w": weights(1, 32, 32),
        },
    ),
    "rotary by Einsum": lambda: model(
        "t (float[1, 64, 32] x, float[64] p) => (float[1, 64, 32] y) "
        '{ u = Abs(p) q = Mul(u, most) t = Einsum<equation = "i,j->ij">(q, rates) '
        "c = Cos(t) d = Concat<axis = -1>(c, c) h = MatMul(x, w) y = Mul(h, d) }",
        {"most": 400.0, "rates": (10000.0 ** -(np.arange(16) / 16)).astype(np.float32), "w": weights(1, 32, 32)},
    ),
    "timesteps": lambda: model(
        "t (float[4, 1] x) => (float[4, 32] y) "
        "{ u = Abs(x) t = Mul(u, thousand) a = Mul(t, rates) c = Cos(a) s = Sin(a) e = Concat<axis = -1>(c, s) "
        "y = MatMul(e, w) }",
        {
            "thousand": 400.0,
            "rates": (10000.0 ** -(np.arange(16) / 16)).astype(np.float32),
            "w": weights(1, 32, 32),
        },
    ),
}


@pytest.mark.parametrize(("case", "configuration"), with_configurations(DECIDING, 4))
def test_decisions_are_those_of_the_float_model(case: str, configuration: str) -> None:
    source = DECIDING[case]()
    result = quantize_static(source, None, samples(source), **CONFIGURATIONS[configuration])
    op_type, tensor = READS[case]
    assert nodes(result, op_type)[0].input[0] == tensor
    if case in FROM_INPUTS:  # alone: no other branch is ever taken
        assert_close(source, result, 15.0)


def test_the_tensor_that_decides_has_no_pair_and_its_product_is_quantized() -> None:
    source = model(
        "t (float[4, 8] x) => (bool[4, 8] y) { h = MatMul(x, w) y = Greater(h, k) }", {"w": weights(1, 8, 8), "k": 0.5}
    )
    result = quantized(source)
    assert nodes(result, "Greater")[0].input[0] == "h"
    assert nodes(result, "MatMul")[0].input[0] != "x"


def test_data_that_is_also_compared_keeps_its_pair() -> None:
    source = model(
        "t (float[4, 8] x) => (float[4, 8] y) { h = MatMul(x, w) c = Greater(h, k) y = Where(c, h, x) }",
        {"w": weights(1, 8, 8), "k": 0.0},
    )
    assert nodes(quantized(source), "Where")[0].input[1] != "h"


@pytest.mark.parametrize(("case", "configuration"), with_configurations(ANGLES, 4))
def test_angles_of_many_periods_keep_their_digits(case: str, configuration: str) -> None:
    source = ANGLES[case]()
    result = quantize_static(source, None, samples(source), **CONFIGURATIONS[configuration])
    assert_close(source, result, 20.0)


def test_angles_within_two_periods_are_quantized() -> None:
    source = model(
        "t (float[4, 8] x) => (float[4, 8] y) { h = MatMul(x, w) s = Sin(h) y = Mul(s, x) }", {"w": weights(1, 8, 8)}
    )
    result = quantized(source, op_types_to_quantize=["MatMul", "Sin", "Mul"])
    assert nodes(result, "Sin")[0].input[0] != "h"


def test_every_rule_has_a_switch() -> None:
    source = DECIDING["a sign"]()
    on, off = (quantized(source, extra_options={"FloatDecisions": on}) for on in (True, False))
    assert "FloatDecisions" in on.report.transforms
    assert "FloatDecisions" not in off.report.transforms


CLASSIFIER = "t (float[4, 8] x) => (float[4, 10] y) { h = MatMul(x, w) y = Softmax<axis = -1>(h) }"


def test_final_probabilities_stay_float() -> None:
    result = quantized(model(CLASSIFIER, {"w": weights(1, 8, 10, scale=4.0)}))
    assert nodes(result, "Softmax")[0].output[0] == "y"
    assert "only leave the model" in next(iter(result.report.left_float.values()))


def test_who_names_softmax_gets_codes() -> None:
    source = model(CLASSIFIER, {"w": weights(1, 8, 10, scale=4.0)})
    result = quantized(source, op_types_to_quantize=["MatMul", "Softmax"])
    assert nodes(result, "Softmax")[0].output[0] != "y"


def test_probabilities_that_weigh_are_data() -> None:
    source = model(
        "t (float[4, 8] x) => (float[4, 8] y) { h = MatMul(x, w) p = Softmax<axis = -1>(h) y = Mul(p, x) }",
        {"w": weights(1, 8, 8)},
    )
    assert nodes(quantized(source), "Mul")[0].input[0] != "p"


def test_what_decides_reads_the_float_tensor_that_others_read_as_codes() -> None:
    source = model(
        "t (float[4, 8] x) => (float[4, 8] y) { c = Equal(x, k) h = MatMul(x, w) y = Where(c, x, h) }",
        {"w": weights(1, 8, 8), "k": -10.0},
    )
    feeds = samples(source)
    for feed in feeds:
        feed["x"][1:3] = -10
    result = quantized(source, feeds)
    assert nodes(result, "Equal")[0].input[0] == "x"
    assert nodes(result, "MatMul")[0].input[0] != "x"
    assert_close(source, result, 20.0, feeds)


def test_what_is_computed_in_codes_is_compared_in_codes() -> None:
    source = model(
        "t (float[4, 8] x) => (float[4, 8] y) { h = MatMul(x, w) c = Greater(h, k) y = Where(c, h, x) }",
        {"w": weights(1, 8, 8), "k": 0.0},
    )
    assert nodes(quantized(source), "Greater")[0].input[0] != "h"


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_positions_times_frequencies_may_be_a_product_of_matrices(configuration: str) -> None:
    source = model(
        "t (float[1, 64, 16] x, int64[1, 64, 1] n) => (float[1, 64, 16] y) "
        "{ p = Cast<to = 1>(n) a = MatMul(p, rates) e = Concat<axis = -1>(a, a) c = Cos(e) h = MatMul(x, w) "
        "y = Mul(h, c) }",
        {"rates": (1e4 ** -(np.arange(8) / 8)).astype(np.float32)[None], "w": weights(1, 16, 16)},
    )
    feeds = samples(source, 3)
    for at, feed in enumerate(feeds):
        feed["n"] = np.arange(64).reshape(1, 64, 1) + 200 * at
    result = quantize_static(source, None, feeds, **CONFIGURATIONS[configuration])
    assert_close(source, result, 15.0, feeds)
