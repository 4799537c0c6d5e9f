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
    assert before_softmax(Graph(model), "y").tensor == seen


@pytest.mark.parametrize(("opset", "shared"), [(17, (2,)), (11, (1, 2))])
def test_of_what_a_softmax_reads_that_counts_which_its_classes_do_not_share(
    opset: int, shared: tuple[int, ...]
) -> None:
    axis = "<axis = 2>" if opset > 12 else ""
    model = graph(f"t (float[2, 3, 4] x) => (float[2, 3, 4] y) {{ a = Relu(x)  y = Softmax{axis}(a) }}", opset=opset)
    end, values = before_softmax(Graph(model), "y"), np.random.default_rng(0).standard_normal((2, 3, 4))
    moved = values + np.random.default_rng(1).standard_normal((2, *(1 if at in shared else 3 for at in (1, 2))))
    np.testing.assert_allclose(end.seen_of(moved), end.seen_of(values), atol=1e-12)
    np.testing.assert_allclose(end.seen_of(values).mean(shared), 0, atol=1e-12)


def test_an_output_without_softmax_counts_as_it_is() -> None:
    values = np.ones((1, 4), np.float32)
    assert (
        before_softmax(Graph(graph("t (float[1, 4] x) => (float[1, 4] y) { y = Relu(x) }")), "y").seen_of(values)
        is values
    )
