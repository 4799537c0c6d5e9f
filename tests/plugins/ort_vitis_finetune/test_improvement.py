"""A plugin's rounding changes those outputs that it brings nearer behind their activation, and no others."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from ort_vitis_finetune.candidates import Choice, Constants, Inputs, Problem
from ort_vitis_finetune.grid import Grid
from ort_vitis_finetune.improvement import activation_behind, improved
from ort_vitis_finetune.layer import layer_of
from ort_vitis_finetune.settings import FinetuneSettings
from ort_vitis_plugin.api import Graph, WeightRounding

NETWORK = "net (float[4, 3] x) => (float[4, 2] y) <float[3, 2] w, float[2] b> { [fc] a = Gemm(x, w, b) y = %s }"


def problem_of(graph: Callable[..., ModelProto]) -> Problem:
    model = Graph(graph(NETWORK % "Relu(a)"))
    layer = layer_of(next(node for node in model if node.name == "fc"), {"w": (3, 2), "b": (2,)})
    assert not isinstance(layer, str)
    weights = np.array([[1, 2], [3, 4], [5, 6]], np.float32) / 8
    grid = Grid(np.float32(1 / 8), np.zeros((), np.int64), -8, 7)  # type: ignore[arg-type]
    codes = grid.nearest(weights) - np.array([[1, 1], [0, 0], [0, 0]])
    now = Constants(codes, grid.values(codes), np.zeros(2, np.float32))
    return Problem(layer, weights, np.zeros(2, np.float32), grid, None, now)


def test_outputs_are_taken_one_by_one(graph: Callable[..., ModelProto]) -> None:
    problem = problem_of(graph)
    x = np.random.default_rng(0).uniform(1, 2, (1, 3, 50)).astype(np.float32)
    start = Choice("damping 1", problem.now, 1.0, 2.0)

    def first_right_second_wrong(asked: Any, parameters: Any) -> Any:
        return asked.start + np.array([[[1, 0, 0], [0, 0, -3]]]), asked.start_bias

    own = WeightRounding("mine", "", first_right_second_wrong)
    inputs = Inputs(x, x)
    found = improved(own, FinetuneSettings(), problem, start, inputs, inputs, (0.0, math.inf))
    assert found.name == "mine"
    assert found.constants.codes.tolist() == [[1, 1], [3, 4], [5, 6]]
    nothing = WeightRounding("mine", "", lambda asked, parameters: (asked.start - 1, None))
    assert improved(nothing, FinetuneSettings(), problem, start, inputs, inputs, (0.0, math.inf)) is start


@pytest.mark.parametrize(
    ("end", "limits"), [("Relu(a)", (0, math.inf)), ("Neg(a)", (-math.inf, math.inf)), ("Clip(a, l, h)", (-1, 6))]
)
def test_the_activation_behind_a_layer_gives_the_limits(
    end: str, limits: tuple[float, float], graph: Callable[..., ModelProto]
) -> None:
    text = NETWORK.replace("float[2] b>", "float[2] b, float l = {-1}, float h = {6}>") % end
    model = Graph(graph(text))
    layer = layer_of(next(node for node in model if node.name == "fc"), {"w": (3, 2), "b": (2,)})
    assert not isinstance(layer, str)
    assert activation_behind(model, layer) == limits
