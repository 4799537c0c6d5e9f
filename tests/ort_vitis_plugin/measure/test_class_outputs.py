"""Which outputs rank classes, and along which axis."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.measure.class_outputs import before_softmax, class_axes
from ort_vitis_plugin.testing import graph

NONE = {
    "a picture": "t (float[1, 3, 8, 8] x) => (float[1, 3, 8, 8] y) { y = Relu(x) }",
    "one number per sample": "t (float[N, 4] x) => (float[N, 1] y) { y = MatMul(x, w)  }",
    "a hidden state": "t (float[1, 5, 16] x) => (float[1, 5, 16] y) { y = LayerNormalization(x, s) }",
    "coordinates": "t (float[1, 5, 16] x) => (float[1, 5, 4] y) { y = MatMul(x, w) }",
}
RANKED = {
    "rows": ("t (float[N, 4] x) => (float[N, 3] y) { y = Relu(x) }", 1),
    "a sequence": ("t (float[1, 5, 16] x) => (float[1, 5, 40] y) { y = MatMul(x, w) }", 2),
    "a sequence with bias": ("t (float[1, 5, 16] x) => (float[1, 5, 40] y) { m = MatMul(x, w)  y = Add(m, b) }", 2),
    "pixels": ("t (float[1, 3, 8, 8] x) => (float[1, 3, 8, 8] y) { y = Softmax<axis = 1>(x) }", 1),
    "transposed": (
        "t (float[1, 5, 7] x) => (float[7, 1, 5] y) { s = Softmax(x)  y = Transpose<perm = [2, 0, 1]>(s) }",
        0,
    ),
}


@pytest.mark.parametrize("text", NONE.values(), ids=NONE)
def test_ranks_nothing(text: str) -> None:
    assert class_axes(graph(text)) == {}


@pytest.mark.parametrize(("text", "axis"), RANKED.values(), ids=RANKED)
def test_ranks_along_an_axis(text: str, axis: int) -> None:
    constants = {"w": np.zeros((16, 40), np.float32), "b": np.zeros(40, np.float32)} if "MatMul" in text else {}
    assert class_axes(graph(text, constants=constants)) == {"y": axis}


@pytest.mark.parametrize(
    ("body", "seen"),
    [("a = Relu(x)  y = Softmax(a)", "a"), ("y = Softmax(x)", "y"), ("a = Softmax(x)  y = Relu(a)", "y")],
)
def test_a_softmax_at_the_end_is_seen_past(body: str, seen: str) -> None:
    model = graph(f"t (float[1, 4] x) => (float[1, 4] y) {{ {body} }}")
    assert before_softmax(Graph(model), "y") == seen
