"""Outputs are kept in memory of their own, and a float model that onnxruntime takes in one of two ways is run."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto

from ort_vitis_plugin.errors import ModelError
from ort_vitis_plugin.measure.answers import answer, float_answers, loaded
from ort_vitis_plugin.onnx_io.sessions import open_session
from ort_vitis_plugin.testing import graph

FEEDS = [{"x": np.float32([-1, value])} for value in (2, 3)]


def model() -> ModelProto:
    return graph("t (float[2] x) => (float[2] y) { [a] h = Relu(x)  [b] y = Neg(h) }")


def test_an_answer_owns_its_memory() -> None:
    (found,) = answer(open_session(model()), ["y"], FEEDS[0])
    assert found.flags.owndata
    np.testing.assert_array_equal(found, np.float32([0, -2]))


def test_equal_names_of_nodes_are_no_hindrance() -> None:
    twice = model()
    for node in twice.graph.node:
        node.name = "same"
    found = float_answers(twice, [], ["y"], FEEDS)
    assert [[values.tolist() for values in row] for row in found] == [[[0, -2]], [[0, -3]]]
    assert [node.name for node in twice.graph.node] == ["same", "same"]


def test_a_model_that_does_not_run_is_a_typed_error() -> None:
    broken = model()
    broken.graph.node[0].op_type = "Unheard"
    with pytest.raises(ModelError, match="onnxruntime cannot run the float model"):
        float_answers(broken, [], ["y"], FEEDS)


def test_a_model_that_does_not_load_says_which_it_is() -> None:
    broken = model()
    broken.graph.node[0].op_type = "Unheard"
    with pytest.raises(ModelError, match="onnxruntime cannot load the quantized model"):
        loaded(broken, "quantized", [])
    assert loaded(model(), "float", []).get_outputs()[0].name == "y"
