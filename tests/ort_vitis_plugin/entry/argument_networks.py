"""A convolutional network, one of products, and what a call wrote of them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

import ort_vitis_plugin as vitis
from ort_vitis_plugin.testing import graph, random_feeds

RNG = np.random.default_rng(3)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


CONSTANTS = {
    "w": normal(4, 3, 3, 3) * np.float32([1, 3, 9, 27]).reshape(4, 1, 1, 1),
    "b": normal(4),
    "v": normal(4, 4, 1, 1),
}
CNN = graph(
    """t (float[1, 3, 8, 8] x) => (float[1, 4, 3, 3] y) {
        [c1] h = Conv(x, w, b)
        [r1] r = Relu(h)
        [p1] p = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(r)
        [c2] y = Conv(p, v)
    }""",
    constants=CONSTANTS,
)
MATMUL = graph(
    """t (float[1, 4, 6] x, float[1, 6, 4] z) => (float[1, 4, 5] y) {
        [m1] h = MatMul(x, z)
        [m2] y = MatMul(h, w)
    }""",
    constants={"w": normal(4, 5)},
)


def samples(model: onnx.ModelProto, count: int = 4) -> list[dict[str, Any]]:
    return [random_feeds(model, seed) for seed in range(count)]


def quantize(model: onnx.ModelProto, feeds: Any = None, **arguments: Any) -> vitis.Result:
    return vitis.quantize_static(model, None, samples(model) if feeds is None else feeds, **arguments)


def arrays(result: vitis.Result) -> dict[str, np.ndarray]:
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in result.model.graph.initializer}


def pairs(result: vitis.Result) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """{float tensor: (scale, zero point)} of activations."""
    known = arrays(result)
    return {
        node.input[0]: (known[node.input[1]], known[node.input[2]])
        for node in result.model.graph.node
        if node.op_type.endswith("QuantizeLinear") and node.op_type[0] != "D" and node.input[0] not in known
    }


def float_nodes(result: vitis.Result) -> set[str]:
    return set(result.report.left_float)
