"""Networks and readers for the interface of 2019."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime
from onnx import ModelProto, TensorProto, helper, numpy_helper

from ort_vitis_plugin.legacy import QuantizationMode

if TYPE_CHECKING:
    pass


INTEGER, LINEAR = QuantizationMode.IntegerOps, QuantizationMode.QLinearOps


def model_of(
    nodes: list[onnx.NodeProto], shapes: dict[str, list[int]], *, output: list[int], opset: int = 13
) -> ModelProto:
    """A model from x of shape 1x3x8x8 to y; weights are seeded."""
    rng = np.random.default_rng(5)
    weights = [
        numpy_helper.from_array(rng.normal(scale=0.4, size=shape).astype(np.float32), name)
        for name, shape in shapes.items()
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, output)],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=7)


def network(opset: int = 13) -> ModelProto:
    """Conv with bias, Relu, Conv with bias, pooling, Flatten, MatMul."""
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], "conv1", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c1"], ["r1"], "relu1"),
        helper.make_node("Conv", ["r1", "w2", "b2"], ["c2"], "conv2"),
        helper.make_node("GlobalAveragePool", ["c2"], ["p"], "pool"),
        helper.make_node("Flatten", ["p"], ["f"], "flatten"),
        helper.make_node("MatMul", ["f", "w3"], ["y"], "matmul"),
    ]
    shapes = {"w1": [8, 3, 3, 3], "b1": [8], "w2": [8, 8, 3, 3], "b2": [8], "w3": [8, 5]}
    return model_of(nodes, shapes, output=[1, 5], opset=opset)


class Reader:
    """Samples as the old interface reads them: anything with get_next."""

    def __init__(self, count: int = 8, seed: int = 1) -> None:
        self.batches = iter(samples(count, seed))

    def get_next(self) -> dict[str, np.ndarray[Any, Any]] | None:
        return next(self.batches, None)


def samples(count: int, seed: int) -> list[dict[str, np.ndarray[Any, Any]]]:
    rng = np.random.default_rng(seed)
    return [{"x": rng.normal(size=(1, 3, 8, 8)).astype(np.float32)} for _ in range(count)]


def run(model: ModelProto, feed: dict[str, np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (result,) = session.run(None, feed)
    return np.asarray(result)


def relative_error(quantized: ModelProto, reference: ModelProto) -> float:
    feeds = samples(8, 1)
    wanted = np.concatenate([run(reference, feed) for feed in feeds])
    found = np.concatenate([run(quantized, feed) for feed in feeds])
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


def ops(model: ModelProto) -> Counter[str]:
    return Counter(node.op_type for node in model.graph.node)
