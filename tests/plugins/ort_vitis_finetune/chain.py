"""A small chain of every operator that fine-tuning knows, its weights on four bits, and how far it is from float."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import onnxruntime as ort
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnxruntime import GraphOptimizationLevel

from ort_vitis_finetune import Finetuned, Grid, Simulation, finetune
from ort_vitis_plugin import custom_ops
from ort_vitis_plugin.api import Graph
from ort_vitis_plugin.onnx_io.sessions import open_session

Array = np.ndarray[Any, Any]
Feeds = list[dict[str, Array]]


def session(model: ModelProto) -> ort.InferenceSession:
    return open_session(model, [custom_ops.register], GraphOptimizationLevel.ORT_DISABLE_ALL)


def coarse(w: Array, bits: int = 4) -> Grid:
    """One power-of-two step that covers the weights."""
    high = (1 << bits - 1) - 1
    step = np.asarray(2.0 ** np.ceil(np.log2(np.abs(w).max() / high)), np.float32)
    return Grid(step, np.zeros((), np.int64), -high - 1, high)


def rounded(reference: ModelProto, *, coarser: int = 0) -> Simulation:
    """The network with weights of four bits and nothing else quantized; steps are 2^coarser too large."""
    graph, grids = Graph(reference), {}
    for node in graph.of_type("Conv", "ConvTranspose", "Gemm", "MatMul"):
        w = graph.array(node.input[1])
        assert w is not None
        grids[node.input[1]] = coarse(w).moved(-coarser)
        graph.put_initializer(numpy_helper.from_array(grids[node.input[1]].rounded(w), node.input[1]))
    return Simulation(graph.to_model(), grids)


def chain() -> ModelProto:
    """Conv, depthwise Conv, ConvTranspose, MatMul and Gemm behind each other, with a path around two of them."""
    draw = np.random.default_rng(0)
    node, value = helper.make_node, helper.make_tensor_value_info
    shapes = {"w1": (8, 3, 3, 3), "w2": (8, 1, 3, 3), "w3": (8, 8, 2, 2), "w4": (16, 12), "w5": (6, 8)}
    biases = {"b1": 8, "b2": 8, "b4": 12, "b5": 6}
    constants = [numpy_helper.from_array(draw.normal(size=s).astype(np.float32), n) for n, s in shapes.items()]
    constants += [numpy_helper.from_array(draw.normal(size=s).astype(np.float32), n) for n, s in biases.items()]
    nodes = [
        node("Conv", ["x", "w1", "b1"], ["c1"], "conv", pads=[1, 1, 1, 1]),
        node("Relu", ["c1"], ["r1"], "relu"),
        node("Conv", ["r1", "w2", "b2"], ["c2"], "depthwise", group=8, pads=[1, 1, 1, 1]),
        node("Add", ["c2", "r1"], ["a2"], "add"),
        node("ConvTranspose", ["a2", "w3"], ["c3"], "transpose", strides=[2, 2]),
        node("MaxPool", ["c3"], ["p3"], "pool", kernel_shape=[2, 1], strides=[2, 1]),
        node("MatMul", ["p3", "w4"], ["m4"], "matmul"),
        node("Add", ["b4", "m4"], ["n4"], "added"),
        node("GlobalAveragePool", ["n4"], ["g4"], "mean"),
        node("Flatten", ["g4"], ["f4"], "flatten"),
        node("Gemm", ["f4", "w5", "b5"], ["y"], "gemm", transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "chain",
        [value("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [value("y", TensorProto.FLOAT, [1, 6])],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def pictures(count: int, seed: int = 0) -> Feeds:
    """Smooth noise: neighbours are alike, as in pictures."""
    draw = np.random.default_rng(seed)
    return [{"x": np.cumsum(draw.normal(size=(1, 3, 8, 8)), axis=3).astype(np.float32)} for _ in range(count)]


def relative_error(reference: ModelProto, model: ModelProto, feeds: Feeds) -> float:
    one, other = session(reference), session(model)
    f = np.concatenate([one.run(["y"], feed)[0] for feed in feeds])
    q = np.concatenate([other.run(["y"], feed)[0] for feed in feeds])
    return float(np.sum((f - q) ** 2) / np.sum(f**2))


def with_result(simulation: Simulation, result: Finetuned) -> ModelProto:
    """The simulation (whose constants have the float network's names) with what was found."""
    graph = Graph(simulation.model)
    for name, array in {**result.weights, **result.biases}.items():
        graph.put_initializer(numpy_helper.from_array(array, name))
    return graph.to_model()


@cache
def chain_result() -> tuple[ModelProto, Simulation, Finetuned]:
    reference = chain()
    simulation = rounded(reference)
    return reference, simulation, finetune(reference, simulation, pictures(32), session)
