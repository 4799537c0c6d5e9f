"""A plugin's rounding is an OptimAlgorithm: it sees each layer's problem, and what it makes better is written."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import onnx
import pluggy
import pytest

from ort_vitis_plugin.api import Declaration, LayerProblem, WeightRounding, hookimpl
from ort_vitis_plugin.entry.quantize_static import quantize_static
from ort_vitis_plugin.errors import QuantizationError
from ort_vitis_plugin.testing import random_feeds

NETWORK = """
net (float[8, 3] x) => (float[8, 2] y) <float[3, 2] w = {0.9, -0.7, 0.4, 0.3, -0.2, 0.8}, float[2] b = {0.1, -0.1}>
{ [fc] a = Gemm(x, w, b) [act] y = Relu(a) }
"""


class Mine:
    def __init__(self, solve: Callable[..., Any]) -> None:
        self.solve = solve

    @hookimpl
    def vitis_declare(self) -> Iterator[Declaration]:
        yield WeightRounding("mine", "A rounding of our own.", self.solve, {"Pull": 2.0})


def codes(graph: Callable[..., onnx.ModelProto], plugins: pluggy.PluginManager, options: dict[str, Any]) -> Any:
    model = graph(NETWORK)
    feeds = [random_feeds(model, seed) for seed in range(8)]
    result = quantize_static(model, None, feeds, extra_options={"FastFinetune": options}, plugins=plugins)
    held = {tensor.name: tensor for tensor in result.model.graph.initializer}
    return onnx.numpy_helper.to_array(held["w_quantized"])


def test_it_sees_the_layer_and_is_taken_only_where_it_is_nearer(
    graph: Callable[..., onnx.ModelProto], plugins: pluggy.PluginManager
) -> None:
    seen: list[tuple[LayerProblem, Mapping[str, float]]] = []

    def solve(problem: LayerProblem, parameters: Mapping[str, float]) -> Any:
        seen.append((problem, parameters))
        return problem.start + 40, problem.start_bias

    plugins.register(Mine(solve), "mine")
    plain = codes(graph, plugins, {})
    assert not seen
    assert np.array_equal(codes(graph, plugins, {"OptimAlgorithm": "Mine", "Pull": 3}), plain)
    ((problem, parameters),) = seen
    assert parameters == {"Pull": 3.0}
    assert problem.weights.shape == problem.start.shape == (1, 2, 3)
    assert problem.x_f.shape == problem.x_q.shape
    assert problem.activation == (0.0, np.inf)
    near = problem.start * problem.step - problem.weights
    assert np.abs(near).max() <= 2 * np.max(problem.step)
    assert (problem.least <= problem.start).all()
    assert (problem.start <= problem.most).all()


def test_what_fails_in_it_is_an_error_that_names_the_plugin(
    graph: Callable[..., onnx.ModelProto], plugins: pluggy.PluginManager
) -> None:
    def solve(problem: LayerProblem, parameters: Mapping[str, float]) -> Any:
        raise ZeroDivisionError("no")

    plugins.register(Mine(solve), "mine")
    with pytest.raises(QuantizationError, match="mine"):
        codes(graph, plugins, {"OptimAlgorithm": "mine"})
