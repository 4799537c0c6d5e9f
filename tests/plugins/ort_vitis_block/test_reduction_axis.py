"""Blocks lie along the sum that follows, else along the channels of what made the values."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_block.reduction_axis import default_axis
from ort_vitis_plugin.api import Graph
from ort_vitis_plugin.testing import graph

HEADS = "t (float[2, 4, 6, 8] x, float[2, 4, 8, 6] z) => (float[2, 4, 6, 6] y)"
SHAPES = {"split": [0, 0, 4, 8]}


@pytest.mark.parametrize(
    ("text", "tensor", "axis"),
    {
        "scores on their way to a Softmax": (
            f"{HEADS} {{ m = MatMul(x, z) s = Neg(m) y = Softmax<axis = -1>(s) }}",
            "m",
            -1,
        ),
        "signals on their way to a convolution": (
            "t (float[2, 4, 9] x) => (float[2, 3, 9] y) { r = Relu(x) n = Neg(r) y = Conv(n, kernel) }",
            "r",
            1,
        ),
        "a product whose heads move": (
            f"{HEADS} {{ m = MatMul(x, z) h = Transpose<perm = [0, 2, 1, 3]>(m) y = Neg(h) }}",
            "h",
            3,
        ),
        "channels that move": (
            f"{HEADS} {{ m = MatMul(x, z) h = Transpose<perm = [0, 3, 1, 2]>(m) y = Neg(h) }}",
            "h",
            1,
        ),
        "tokens in heads": (
            "t (float[2, 6, 32] x) => (float[2, 6, 4, 8] y) { h = Reshape(x, split) y = Neg(h) }",
            "h",
            3,
        ),
        "an image": ("t (float[2, 4, 6, 8] x) => (float[2, 4, 6, 8] y) { r = Relu(x) y = Neg(r) }", "r", 1),
        "rows": ("t (float[2, 9] x) => (float[2, 9] y) { r = Relu(x) y = Neg(r) }", "r", -1),
    }.values(),
)
def test_the_axis_of_what_nobody_sums_over(text: str, tensor: str, axis: int) -> None:
    constants = {name: np.int64(shape) for name, shape in SHAPES.items() if name in text}
    constants |= {"kernel": np.ones((3, 4, 1), np.float32)} if "kernel" in text else {}
    made = Graph(graph(text, 17, constants))
    assert default_axis(made, tensor) == axis
