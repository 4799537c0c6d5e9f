"""What is divided by, or taken the logarithm of, does not round to zero where it was none."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_plugin import quantize_static

from .checks import CONFIGURATIONS, Build, assert_close, model, nodes, quantized, samples, weights, with_configurations

ROW = "(float[1, 16] x) => (float[1, 16] y)"
SPREAD = np.linspace(-6, 6, 16, dtype=np.float32).reshape(1, 16)
VANISHING: dict[str, Build] = {
    "Div by decades": lambda: model(f"t {ROW} {{ d = Exp(k) s = Abs(x) a = Add(s, d) y = Div(x, a) }}", {"k": SPREAD}),
    "Div by a small sum": lambda: model(
        f"t {ROW} {{ a = Abs(x) p = Pow(a, four) d = Add(p, eps) y = Div(x, d) }}", {"four": 4.0, "eps": 1e-6}
    ),
    "Reciprocal": lambda: model(f"t {ROW} {{ e = Mul(x, x) d = Add(e, k) y = Reciprocal(d) }}", {"k": np.exp(SPREAD)}),
    "Div by a root": lambda: model(
        f"t {ROW} {{ p = Mul(x, x) d = Add(p, eps) s = Sqrt(d) y = Div(x, s) }}", {"eps": 1e-7}
    ),
    "Div by what was moved": lambda: model(
        "t (float[1, 16] x) => (float[16, 1] y) "
        "{ p = Mul(x, x) d = Add(p, k) t = Transpose(d) u = Transpose(x) y = Div(u, t) }",
        {"k": np.exp(SPREAD)},
    ),
    "Div by a constant": lambda: model(f"t {ROW} {{ r = Relu(x) y = Div(r, k) }}", {"k": np.exp(SPREAD)}),
    "Log of Softmax": lambda: model(
        "t (float[2, 8] x) => (float[2, 8] y) { h = MatMul(x, w) p = Softmax<axis = -1>(h) l = Log(p) y = Mul(l, k) }",
        {"w": weights(1, 8, 8, scale=6.0), "k": 0.5},
    ),
    "Log of odds": lambda: model(
        "t (float[2, 8] x) => (float[2, 8] y) "
        "{ h = MatMul(x, w) p = Sigmoid(h) q = Sub(one, p) r = Div(p, q) y = Log(r) }",
        {"w": weights(1, 8, 8, scale=2.0), "one": 1.0},
    ),
    "Log of Sigmoid": lambda: model(
        "t (float[2, 8] x) => (float[2, 8] y) { h = MatMul(x, w) p = Sigmoid(h) l = Log(p) y = Neg(l) }",
        {"w": weights(1, 8, 8, scale=2.0)},
    ),
}


@pytest.mark.parametrize(("case", "configuration"), with_configurations(VANISHING, 4))
def test_no_infinity_where_float_has_none(case: str, configuration: str) -> None:
    source = VANISHING[case]()
    result = quantize_static(source, None, samples(source), **CONFIGURATIONS[configuration])
    assert_close(source, result, 3.0)


def test_a_divisor_that_codes_hold_is_quantized() -> None:
    source = model(f"t {ROW} {{ a = Abs(x) d = Add(a, one) y = Div(x, d) }}", {"one": 1.0})
    result = quantized(source)
    assert nodes(result, "Div")[0].input[1] == "d_DequantizeLinear_Output"
    assert not [note for note in result.report.notes if "stays float" in note]
    assert_close(source, result, 25.0)


def test_the_report_names_tensor_and_node() -> None:
    source = VANISHING["Div by decades"]()
    source.graph.node[-1].name = "quotient"
    result = quantized(source)
    assert any(note.startswith("a stays float") and "quotient (Div)" in note for note in result.report.notes)
    assert nodes(result, "Div")[0].input[1] == "a"


def test_an_addend_may_vanish_where_the_sum_does_not() -> None:
    """x / (1 + exp(-x)), Swish as some exporters write it."""
    source = model(f"t {ROW} {{ n = Mul(x, k) e = Exp(n) d = Add(e, one) y = Div(x, d) }}", {"one": 1.0, "k": -4.0})
    result = quantized(source, op_types_to_quantize=["Exp", "Add", "Mul", "Div"])
    assert not [note for note in result.report.notes if "stays float" in note]


def test_what_is_no_divisor_keeps_its_pair_whatever_its_decades() -> None:
    source = model(f"t {ROW} {{ d = Mul(x, k) y = Add(d, x) }}", {"k": np.exp(SPREAD)})
    result = quantized(source)
    assert "d_DequantizeLinear_Output" in nodes(result, "Add")[0].input
