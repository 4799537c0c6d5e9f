"""x f(x) is found however exporters write it, and only where nobody else reads its steps."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_block.self_gates import self_gates
from ort_vitis_plugin.api import Graph
from ort_vitis_plugin.testing import graph

NUMBERS = {"half": 0.5, "one": 1.0, "root": 1.41421356, "cubic": 0.044715, "three": 3.0}
INPUT = "t (float[2, 8] x) => (float[2, 8] y)"
GELU = "d = Div(x, root) e = Erf(d) a = Add(e, one) m = Mul(x, a)"
TANH = "q = Pow(x, three) c = Mul(q, cubic) s = Add(x, c) n = Tanh(s) a = Add(one, n) h = Mul(x, half) y = Mul(h, a)"


def found(text: str) -> list[tuple[str, set[str]]]:
    constants = {name: np.float32(value) for name, value in NUMBERS.items() if name in text}
    constants |= {"v": np.ones(8, np.float32)} if "(x, v)" in text else {}
    return [(gate.source, set(gate.inner)) for gate in self_gates(Graph(graph(text, 17, constants)))]


@pytest.mark.parametrize(
    ("text", "gates"),
    {
        "gelu": (f"{INPUT} {{ {GELU} y = Mul(m, half) }}", [("x", {"d", "e", "a", "m"})]),
        "gelu without its half": (f"{INPUT} {{ {GELU} y = Neg(m) }}", [("x", {"d", "e", "a"})]),
        "gelu by tanh": (f"{INPUT} {{ {TANH} }}", [("x", {"q", "c", "s", "n", "a", "h"})]),
        "swish": (f"{INPUT} {{ s = Sigmoid(x) y = Mul(x, s) }}", [("x", {"s"})]),
        "swish of a sum": (f"{INPUT} {{ b = Add(x, v) s = Sigmoid(b) y = Mul(s, b) }}", [("b", {"s"})]),
        "a square": (f"{INPUT} {{ y = Mul(x, x) }}", []),
        "a gate of other values": (
            "t (float[2, 8] x, float[2, 8] z) => (float[2, 8] y) { s = Sigmoid(z) y = Mul(x, s) }",
            [],
        ),
        "a gate over a mean": (f"{INPUT} {{ p = ReduceMean(x) s = Sigmoid(p) y = Mul(x, s) }}", []),
        "a step that others read": (f"{INPUT} {{ s = Sigmoid(x) m = Mul(x, s) y = Sub(m, s) }}", []),
        "a step that leaves the model": (
            "t (float[2, 8] x) => (float[2, 8] y, float[2, 8] s) { s = Sigmoid(x) y = Mul(x, s) }",
            [],
        ),
    }.values(),
)
def test_what_is_computed_of_one_tensor(text: str, gates: list[tuple[str, set[str]]]) -> None:
    assert found(text) == gates
