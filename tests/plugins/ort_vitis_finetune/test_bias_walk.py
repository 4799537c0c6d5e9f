"""Biases bring nearest what others read, layer by layer, whatever the operator, wherever its outputs' channels lie."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import ModelProto, numpy_helper

from ort_vitis_finetune import ONLY_BIAS, FinetuneSettings, Grid, Simulation, finetune
from ort_vitis_finetune.bias_walk import thinned
from ort_vitis_plugin.api import Graph
from ort_vitis_plugin.testing import run_model

NETWORKS = {
    "Conv": ("float[1, 3, 6, 6] x", "y = Conv(x, w, b)", (4, 3, 3, 3), (4,), (0, 2, 3)),
    "depthwise": ("float[1, 4, 6, 6] x", "y = Conv<group = 4>(x, w, b)", (4, 1, 3, 3), (4,), (0, 2, 3)),
    "ConvTranspose": ("float[1, 3, 6, 6] x", "y = ConvTranspose(x, w, b)", (3, 4, 2, 2), (4,), (0, 2, 3)),
    "Gemm": ("float[5, 3] x", "y = Gemm(x, w, b)", (3, 4), (4,), (0,)),
    "MatMul": ("float[2, 5, 3] x", "m = MatMul(x, w) y = Add(m, b)", (3, 4), (4,), (0, 1)),
    "MatMul on the left": ("float[2, 3, 5] x", "m = MatMul(w, x) y = Add(m, b)", (4, 3), (4, 1), (0, 2)),
}
STEP = 0.5


def network(kind: str) -> ModelProto:
    data, body, shape, bias, _ = NETWORKS[kind]
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> one ({data}) => (float y) {{ {body} }}')
    model.graph.output[0].type.tensor_type.ClearField("shape")
    for number, node in enumerate(model.graph.node):
        node.name = f"node{number}"
    draw = np.random.default_rng(0)
    for name, size in (("w", shape), ("b", bias)):
        model.graph.initializer.append(numpy_helper.from_array(draw.normal(size=size).astype(np.float32), name))
    return model


def rounded(model: ModelProto) -> Simulation:
    graph = Graph(model)
    grid = Grid(np.float32(STEP), np.zeros((), np.int64), -127, 127)
    w = graph.array("w")
    assert w is not None
    graph.put_initializer(numpy_helper.from_array(grid.rounded(w), "w"))
    return Simulation(graph.to_model(), {"w": grid})


def feeds(model: ModelProto, count: int, seed: int) -> list[dict[str, Any]]:
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    draw = np.random.default_rng(seed)
    return [{"x": draw.uniform(1, 2, shape).astype(np.float32)} for _ in range(count)]


def opened(model: ModelProto) -> ort.InferenceSession:
    return ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("kind", list(NETWORKS))
def test_the_mean_of_every_channel_comes_back(kind: str) -> None:
    model, axes = network(kind), NETWORKS[kind][4]
    simulation = rounded(model)
    result = finetune(model, simulation, feeds(model, 16, 1), opened, FinetuneSettings(candidates=ONLY_BIAS))
    assert result.biases.keys() == {"b"}
    assert result.after < result.before / 3
    changed = Graph(simulation.model)
    changed.put_initializer(numpy_helper.from_array(result.biases["b"], "b"))

    def shift(other: ModelProto) -> float:
        gaps = [run_model(other, feed)["y"] - run_model(model, feed)["y"] for feed in feeds(model, 64, 2)]
        return float(np.abs(np.mean(gaps, axis=(0, *(axis + 1 for axis in axes)))).max())

    assert shift(changed.to_model()) < shift(simulation.model) / 5


def test_a_second_layer_sees_what_the_first_one_mended() -> None:
    """Two layers of which the second undoes the first: corrected one by one, both means come back."""
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> two (float[4, 3] x) => (float[4, 3] y) '
        "{ m = Gemm(x, w, b) r = Relu(m) y = Gemm(r, v, c) }"
    )
    draw = np.random.default_rng(3)
    for number, node in enumerate(model.graph.node):
        node.name = f"node{number}"
    for name, size in (("w", (3, 8)), ("b", (8,)), ("v", (8, 3)), ("c", (3,))):
        model.graph.initializer.append(numpy_helper.from_array(draw.normal(size=size).astype(np.float32), name))
    grid = Grid(np.float32(STEP), np.zeros((), np.int64), -127, 127)
    graph = Graph(model)
    for name in ("w", "v"):
        array = graph.array(name)
        assert array is not None
        graph.put_initializer(numpy_helper.from_array(grid.rounded(array), name))
    simulation = Simulation(graph.to_model(), {"w": grid, "v": grid})
    result = finetune(model, simulation, feeds(model, 24, 1), opened, FinetuneSettings(candidates=ONLY_BIAS))
    assert result.biases.keys() == {"b", "c"}
    changed = Graph(simulation.model)
    for name, array in result.biases.items():
        changed.put_initializer(numpy_helper.from_array(array, name))

    def shift(other: ModelProto) -> float:
        gaps = [run_model(other, feed)["y"] - run_model(model, feed)["y"] for feed in feeds(model, 200, 4)]
        return float(np.abs(np.mean(gaps, axis=(0, 1))).max())

    assert shift(changed.to_model()) < shift(simulation.model) / 3


def test_layers_without_bias_are_not_walked() -> None:
    model = network("Conv")
    del model.graph.node[0].input[2]
    simulation = rounded(model)
    result = finetune(model, simulation, feeds(model, 8, 1), opened, FinetuneSettings(candidates=ONLY_BIAS))
    assert (result.layers, result.biases, result.after) == ([], {}, result.before)


def test_what_samples_held_out_confirm_is_the_mean_of_all() -> None:
    model = network("Gemm")
    simulation, known = rounded(model), feeds(model, 8, 1)
    result = finetune(model, simulation, known, opened, FinetuneSettings(candidates=ONLY_BIAS))
    changed = Graph(simulation.model)
    changed.put_initializer(numpy_helper.from_array(result.biases["b"], "b"))
    mended = changed.to_model()
    gaps = [run_model(mended, feed)["y"] - run_model(model, feed)["y"] for feed in known]
    np.testing.assert_allclose(np.mean(gaps, axis=(0, 1)), 0, atol=1e-5)


def with_activation(body: str, bias: list[float]) -> ModelProto:
    """One product, what stands behind it, and another product."""
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> one (float[64, 2] x) => (float[64, 2] o) '
        f"{{ y = Gemm(x, w, b)  {body}  o = MatMul(z, v) }}"
    )
    model.graph.initializer.extend(numpy_helper.from_array(np.eye(2, dtype=np.float32), name) for name in "wv")
    model.graph.initializer.append(numpy_helper.from_array(np.float32(bias), "b"))
    for number, node in enumerate(model.graph.node):
        node.name = f"node{number}"
    return model


def found(reference: ModelProto, quantized: ModelProto) -> dict[str, Any]:
    draw = np.random.default_rng(5)
    known = [{"x": draw.standard_normal((64, 2)).astype(np.float32)} for _ in range(16)]
    simulation = Simulation(quantized, {"w": Grid(np.float32(1), np.zeros((), np.int64), -127, 127)})
    return finetune(reference, simulation, known, opened, FinetuneSettings(candidates=ONLY_BIAS)).biases


def test_a_shift_that_the_activation_hides_is_no_ground_to_move() -> None:
    relu = "z = Relu(y)"
    biases = found(with_activation(relu, [1.0, -20.0]), with_activation(relu, [1.5, -22.0]))
    assert biases["b"][1] == -22.0
    assert biases["b"][0] == pytest.approx(1.0, abs=0.15)


def test_a_bias_takes_back_what_a_coarser_activation_costs() -> None:
    """Outputs of the layers are alike; behind the activation they are not."""
    silu = with_activation("s = Sigmoid(y)  z = Mul(y, s)", [-1.0, 1.0])
    hard = with_activation("s = HardSigmoid<alpha = 0.1666667>(y)  z = Mul(y, s)", [-1.0, 1.0])
    biases = found(silu, hard)
    mended = Graph(hard)
    mended.put_initializer(numpy_helper.from_array(biases["b"], "b"))

    def error(other: ModelProto) -> float:
        draw = np.random.default_rng(6)
        unseen = [{"x": draw.standard_normal((64, 2)).astype(np.float32)} for _ in range(16)]
        return float(np.mean([(run_model(other, feed)["o"] - run_model(silu, feed)["o"]) ** 2 for feed in unseen]))

    assert error(mended.to_model()) < 0.8 * error(hard)


def test_large_outputs_are_seen_at_positions_that_are_spread_over_them() -> None:
    y = np.arange(2 * 3 * 200 * 90, dtype=np.float32).reshape(2, 3, 200, 90)
    seen = thinned(y, 1)
    assert seen.shape[1] == 3
    assert 1000 < seen[:, 0].size <= 4096
    assert {0, 1} == set(np.unique(seen[0, 0] % 2))
    np.testing.assert_array_equal(thinned(y[:, :, :8, :8], 1), y[:, :, :8, :8])
