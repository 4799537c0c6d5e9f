"""A BatchNormalization of rank 4 that stands alone becomes a depthwise 1x1 Conv."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto
from onnxruntime.quantization import QuantType

from ort_vitis_ipu.prepare.bn_to_conv import bn_to_conv
from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.api import attribute
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import check_transform, graph, op_types, opsets, plain_context

OPSETS = opsets()


def normalization(shape: str, body: str, opset: int = 17) -> ModelProto:
    generator = np.random.default_rng(2)
    constants = {name: generator.standard_normal(3).astype(np.float32) for name in ("g", "o", "m")}
    constants["v"] = generator.uniform(0.1, 2.0, 3).astype(np.float32)
    return graph(f"t (float[{shape}] x) => (float[] y) {{ {body} }}", opset, constants)


@pytest.mark.parametrize(
    ("shape", "body", "reason"),
    [
        ("2, 3", "y = BatchNormalization(x, g, o, m, v)", "rank 2"),
        ("1, 3, 5", "y = BatchNormalization(x, g, o, m, v)", "rank 3"),
        ("1, 3, 5, 5", "s = Abs(v) y = BatchNormalization(x, g, o, m, s)", "not constant"),
        ("1, 3, 5, 5", "y, a, b = BatchNormalization<training_mode = 1>(x, g, o, m, v)", "training"),
    ],
    ids=["rank 2", "rank 3", "computed variance", "training mode"],
)
def test_left_alone_with_a_reason(shape: str, body: str, reason: str) -> None:
    edited = Graph(normalization(shape, body))
    assert bn_to_conv(edited, plain_context()) == 0
    assert reason in edited.skips[0].reason


def test_unknown_rank_is_left_alone() -> None:
    model = normalization("1, 3, 5, 5", "y = BatchNormalization(x, g, o, m, v)")
    for value in (model.graph.input[0], model.graph.output[0]):
        value.type.tensor_type.ClearField("shape")
    edited = Graph(model)
    assert bn_to_conv(edited, plain_context()) == 0
    assert "infer shapes" in edited.skips[0].reason


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize(
    ("shape", "body"),
    [
        ("1, 3, 5, 5", "y = BatchNormalization(x, g, o, m, v)"),
        ("N, 3, H, W", "r = Relu(x) y = BatchNormalization<epsilon = 0.1>(r, g, o, m, v)"),
    ],
    ids=["graph input to graph output, default epsilon", "dynamic sizes"],
)
def test_becomes_a_depthwise_convolution(shape: str, body: str, opset: int) -> None:
    result = check_transform(bn_to_conv, normalization(shape, body, opset), tolerance=1e-5)
    node = result.graph.node[-1]
    assert (node.op_type, attribute(node, "group"), list(node.output)) == ("Conv", 3, ["y"])


def test_names_follow_the_output() -> None:
    result = check_transform(
        bn_to_conv, normalization("1, 3, 5, 5", "y = BatchNormalization(x, g, o, m, v)"), tolerance=1e-5
    )
    assert {tensor.name for tensor in result.graph.initializer} == {"yweights", "ybias"}
    assert op_types(result) == ["Conv"]


def test_each_node_counts_once() -> None:
    body = "h = BatchNormalization(x, g, o, m, v) r = Sigmoid(h) y = BatchNormalization(r, g, o, m, v)"
    assert bn_to_conv(Graph(normalization("1, 3, 5, 5", body)), plain_context()) == 2


def test_what_is_to_become_a_convolution_is_none_that_the_request_leaves_out() -> None:
    """``op_types_to_quantize`` speaks of the nodes that are written."""
    source = normalization("1, 3, 5, 5", "y = BatchNormalization(x, g, o, m, v)")
    feeds = [{"x": np.random.default_rng(0).normal(size=(1, 3, 5, 5)).astype(np.float32)}]
    for types, excluded, quantized in ((["Conv"], [], True), (["Conv"], ["n"], False), (["Relu"], [], False)):
        source.graph.node[0].name = "n"
        given = {"op_types_to_quantize": types, "nodes_to_exclude": excluded, "activation_type": QuantType.QInt8}
        found = quantize_static(source, None, feeds, enable_dpu=True, **given, extra_options={"SelfCheck": False})
        assert ("DequantizeLinear" in op_types(found.model)) == quantized
        assert ("BatchNormalization" in op_types(found.model)) == bool(excluded)
