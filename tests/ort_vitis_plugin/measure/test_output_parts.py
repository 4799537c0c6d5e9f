"""Which columns of an output its last Concat joins."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_plugin.measure.output_parts import output_parts
from ort_vitis_plugin.testing import graph

WHOLE = {
    "no Concat": "t (float[1, 4] x) => (float[1, 4] y) { y = Relu(x) }",
    "something computes behind it": (
        "t (float[1, 2] a, float[1, 3] b) => (float[1, 5] y) { c = Concat<axis = 1>(a, b)  y = Relu(c) }"
    ),
    "one input": "t (float[1, 2] a) => (float[1, 2] y) { y = Concat<axis = 1>(a) }",
    "sizes not known": ("t (float[1, N] a, float[1, M] b) => (float[1, K] y) { y = Concat<axis = 1>(a, b) }"),
}


@pytest.mark.parametrize("text", WHOLE.values(), ids=WHOLE)
def test_an_output_is_whole(text: str) -> None:
    assert output_parts(graph(text)) == {}


PARTS = {
    "boxes and scores": (
        "t (float[1, 4, 8] a, float[1, 80, 8] b) => (float[1, 84, 8] y) { y = Concat<axis = 1>(a, b) }",
        ["y[:, 0:4]", "y[:, 4:84]"],
    ),
    "batch not known": (
        "t (float[N, 4] a, float[N, 3] b) => (float[N, 7] y) { y = Concat<axis = -1>(a, b) }",
        ["y[:, 0:4]", "y[:, 4:7]"],
    ),
    "transposed": (
        "t (float[1, 4, 8] a, float[1, 80, 8] b) => (float[1, 8, 84] y) "
        "{ c = Concat<axis = 1>(a, b)  y = Transpose<perm = [0, 2, 1]>(c) }",
        ["y[:, :, 0:4]", "y[:, :, 4:84]"],
    ),
    "two levels of the same columns, flattened": (
        "t (float[1, 2, 3, 3] a, float[1, 1, 3, 3] b, float[1, 2, 2, 2] c, float[1, 1, 2, 2] d) => (float[1, 13, 3] y)"
        "{ e = Concat<axis = 1>(a, b)  s = Constant<value = int64[3] {1, 3, -1}>()  f = Reshape(e, s)"
        "  g = Concat<axis = 1>(c, d)  h = Reshape(g, s)  i = Concat<axis = 2>(f, h)"
        "  y = Transpose<perm = [0, 2, 1]>(i) }",
        ["y[:, :, 0:2]", "y[:, :, 2:3]"],
    ),
    "two levels of other columns": (
        "t (float[1, 2, 3] a, float[1, 1, 3] b, float[1, 1, 2] c, float[1, 2, 2] d) => (float[1, 3, 5] y)"
        "{ e = Concat<axis = 1>(a, b)  g = Concat<axis = 1>(c, d)  y = Concat<axis = 2>(e, g) }",
        ["y[:, :, 0:3]", "y[:, :, 3:5]"],
    ),
}


@pytest.mark.parametrize(("text", "names"), PARTS.values(), ids=PARTS)
def test_an_output_has_parts(text: str, names: list[str]) -> None:
    assert [part.name for part in output_parts(graph(text))["y"]] == names


def test_a_part_takes_its_columns_and_names_what_they_are_made_of() -> None:
    text, _ = PARTS["boxes and scores"]
    boxes, scores = output_parts(graph(text))["y"]
    values = np.arange(84 * 8).reshape(1, 84, 8)
    np.testing.assert_array_equal(np.concatenate([boxes.of(values), scores.of(values)], axis=1), values)
    assert (boxes.tensor, scores.tensor) == ("a", "b")
