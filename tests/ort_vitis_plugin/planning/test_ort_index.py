"""onnxruntime's handlers get from the index what their own search would find."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
from onnxruntime.quantization.onnx_model import ONNXModel

from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.planning.ort_index import IndexedModel
from ort_vitis_plugin.testing import graph

MODEL = graph("t (float[2] x) => (float[2] y) { h = Add(x, w) y = Relu(h) }", 17, {"w": np.ones(2, np.float32)})


def test_it_answers_as_onnxruntimes_own() -> None:
    own, indexed = ONNXModel(MODEL), IndexedModel(Graph(MODEL))
    for name in ("x", "w", "h", "y", "nobody"):
        assert (own.get_initializer(name) is None) == (indexed.get_initializer(name) is None)
        assert own.is_graph_output(name) == indexed.is_graph_output(name)
        assert own.is_graph_input(name) == indexed.is_graph_input(name)
    assert [node.op_type for node in indexed.nodes()] == [node.op_type for node in own.nodes()]
    np.testing.assert_array_equal(indexed.get_constant_value("w"), np.ones(2))


def test_initializers_are_found_by_name_and_listed() -> None:
    initializers = IndexedModel(Graph(MODEL)).initializer()
    assert ([each.name for each in initializers], len(initializers)) == (["w"], 1)
    assert initializers.find("w") is not None
    assert initializers.find("x") is None
