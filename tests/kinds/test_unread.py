"""What nobody reads is neither calibrated nor quantized nor written: dead branches, outputs of nodes left unread."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from onnx import GraphProto, ModelProto

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.graph import Graph, captured_names
from ort_vitis_plugin.testing import plain_context
from ort_vitis_prepare.normalize.remove_unread import remove_unread

from .checks import CONFIGURATIONS, Build, assert_close, model, nodes, quantized, samples, weights, with_configurations

W4 = {"w": weights(1, 4, 3, 3, 3), "b": weights(2, 4)}
UNREAD: dict[str, Build] = {
    "a branch that ends nowhere": lambda: model(
        "t (float[2, 8] x) => (float[2, 8] y) { y = MatMul(x, w) d = MatMul(x, v) e = Relu(d) }",
        {"w": weights(1, 8, 8), "v": weights(2, 8, 8)},
    ),
    "a dead branch of NaN": lambda: model(
        "t (float[2, 8] x) => (float[2, 8] y) { y = MatMul(x, w) z = Sub(x, x) n = Div(z, z) e = Relu(n) }",
        {"w": weights(1, 8, 8)},
    ),
    "one part of a Split": lambda: model(
        "t (float[1, 3, 6, 6] x) => (float[1, 2, 4, 4] y) { h = Conv(x, w, b) y, z = Split<axis = 1>(h) }", W4
    ),
    "a part of a Split that only a dead node reads": lambda: model(
        "t (float[1, 3, 6, 6] x) => (float[1, 2, 4, 4] y) "
        "{ h = Conv(x, w, b) p, z = Split<axis = 1>(h) y = Relu(p) d = Sigmoid(z) }",
        W4,
    ),
    "indices of a MaxPool": lambda: model(
        """t (float[1, 3, 6, 6] x) => (float[1, 4, 2, 2] y)
        { h = Conv(x, w, b) y, i = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(h) }""",
        W4,
    ),
    "states of an LSTM": lambda: model(
        "t (float[3, 1, 4] x) => (float[3, 1, 1, 5] y) { h = Tanh(x) y, s, c = LSTM<hidden_size = 5>(h, w, r) }",
        {"w": weights(1, 1, 20, 4), "r": weights(2, 1, 20, 5)},
    ),
    "values of a TopK": lambda: model(
        "t (float[2, 8] x) => (int64[2, 3] y) { h = MatMul(x, w) v, y = TopK(h, k) }",
        {"w": weights(1, 8, 8), "k": np.array([3])},
    ),
}


def _used(graph: GraphProto) -> set[str]:
    names = {name for node in graph.node for name in (*node.input, *captured_names(node))}
    return names | {value.name for value in graph.output}


def _unread(proto: ModelProto) -> Iterator[str]:
    used = _used(proto.graph)
    yield from (node.name for node in proto.graph.node if not used & set(filter(None, node.output)))
    yield from (tensor.name for tensor in proto.graph.initializer if tensor.name not in used)


@pytest.mark.parametrize(("case", "configuration"), with_configurations(UNREAD, 4))
def test_nothing_is_written_that_nobody_reads(case: str, configuration: str) -> None:
    source = UNREAD[case]()
    result = quantize_static(source, None, samples(source), **CONFIGURATIONS[configuration])
    assert not list(_unread(result.model))
    assert not result.report.non_finite
    assert_close(source, result, 5.0)


@pytest.mark.parametrize(("argument", "stays"), [("nodes_to_exclude", []), ("output_nodes", ["dead"])])
def test_a_dead_node_may_be_named(argument: str, stays: list[str]) -> None:
    """Excluded it is float as it should be; as an end of what is quantized it says where, so it stays."""
    source = UNREAD["a branch that ends nowhere"]()
    source.graph.node[1].name = "dead"
    result = quantized(source, **{argument: ["dead"]})
    assert [node.name for node in nodes(result) if node.name == "dead"] == stays


def test_the_step_takes_a_whole_branch_and_leaves_what_bodies_read() -> None:
    source = model(
        """t (float[2, 8] x, bool c) => (float[2, 8] y)
        { h = Relu(x) d = Neg(x) e = Abs(d)
          y = If(c)<then_branch = a () => (float[2, 8] p) { p = Neg(h) },
                    else_branch = o () => (float[2, 8] q) { q = Abs(h) }> }"""
    )
    graph = Graph(source)
    assert remove_unread(graph, plain_context()) == 2
    assert [node.op_type for node in graph.sorted()] == ["Relu", "If"]
    assert remove_unread(graph, plain_context()) == 0
