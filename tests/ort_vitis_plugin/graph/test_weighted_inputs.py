"""One number per input channel scales a weight as it would scale the data."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.graph.weighted_inputs import weighted_inputs
from ort_vitis_plugin.testing import graph, random_feeds, run_model

# Node, its data's shape, the weight's shape, the axis of the data's channels.
CASES = {
    "conv": ("y = Conv(x, w)", (1, 4, 5, 5), (6, 4, 3, 3), 1),
    "conv of groups": ("y = Conv<group = 2>(x, w)", (1, 4, 5, 5), (6, 2, 3, 3), 1),
    "depthwise": ("y = Conv<group = 4>(x, w)", (1, 4, 5, 5), (4, 1, 3, 3), 1),
    "transposed": ("y = ConvTranspose(x, w)", (1, 4, 5, 5), (4, 3, 2, 2), 1),
    "transposed of groups": ("y = ConvTranspose<group = 2>(x, w)", (1, 4, 5, 5), (4, 3, 2, 2), 1),
    "gemm": ("y = Gemm(x, w)", (3, 4), (4, 5), 1),
    "gemm, both transposed": ("y = Gemm<transA = 1, transB = 1>(x, w)", (4, 3), (5, 4), 0),
    "matmul": ("y = MatMul(x, w)", (2, 3, 4), (4, 5), -1),
}


@pytest.mark.parametrize("case", CASES)
def test_a_factor_of_the_data_is_one_of_the_weight(case: str) -> None:
    text, shape, weight, axis = CASES[case]
    draw = np.random.default_rng(0)
    w, factor = draw.normal(size=weight).astype(np.float32), np.float32([1, 2, 4, 8])
    source = f"t (float{list(shape)} x) => (float[] y) {{ {text} }}"
    model = graph(source, constants={"w": w})
    (found,) = weighted_inputs(Graph(model))
    assert (found.weight, found.data, found.axis, found.channels) == ("w", "x", axis, 4)
    feed = random_feeds(model)
    spread = [1] * len(shape)
    spread[axis] = 4
    scaled_data = run_model(model, {"x": feed["x"] * factor.reshape(spread)})["y"]
    scaled = (w.reshape(found.grouped) * factor.reshape(found.spread)).reshape(weight)
    scaled_weight = run_model(graph(source, constants={"w": scaled}), feed)["y"]
    np.testing.assert_allclose(scaled_data, scaled_weight, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("text", ["y = MatMul(w, x)", "y = MatMul(x, x)", "y = Add(x, w)"])
def test_what_is_no_weight_on_the_right_is_left_out(text: str) -> None:
    model = graph(f"t (float[4, 4] x) => (float[4, 4] y) {{ {text} }}", constants={"w": np.eye(4, dtype=np.float32)})
    assert list(weighted_inputs(Graph(model))) == []
