"""What stands for a simulated operation is one operation of the device, for the quantizer and for the request."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper

from ort_vitis_ipu.simulate import SIMULATION
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.plugin.declarations import Stage
from ort_vitis_plugin.request.call import Call
from ort_vitis_plugin.testing import check_transform, graph, plain_context

from .steps import HARD, LEAKY, MEAN, POOL, SIGMOID, SOFTMAX, STEPS, model, simulate

# ---------------------------------------------------------------- what the quantizer needs to know

SOURCES = {
    LEAKY: "t (float[1, 2, 3, 3] x) => (float[1, 2, 3, 3] y) { [n] y = LeakyRelu(x) }",
    SIGMOID: "t (float[1, 2, 3, 3] x) => (float[1, 2, 3, 3] y) { [n] y = Sigmoid(x) }",
    HARD: "t (float[1, 2, 3, 3] x) => (float[1, 2, 3, 3] y) { [n] y = HardSigmoid<alpha = 0.1666667>(x) }",
    POOL: "t (float[1, 2, 3, 3] x) => (float[1, 2, 1, 1] y) { [n] y = GlobalAveragePool(x) }",
    MEAN: "t (float[1, 2, 3, 3] x) => (float[1, 2, 1, 1] y) { [n] y = ReduceMean<axes = [2, 3]>(x) }",
    SOFTMAX: "t (float[1, 2, 3, 3] x) => (float[1, 2, 3, 3] y) { [n] y = Softmax(x) }",
}


def asked(**arguments: Any) -> Call:
    """A call for the NPU's CNN flow, with the op types that it quantizes by default unless others are named."""
    return plain_context(EnableDPU=True, **{"op_types": (), **arguments})


@pytest.mark.parametrize("key", [HARD, POOL, MEAN])
def test_the_factor_stands_between_operation_and_output(key: str) -> None:
    edited = Graph(model(SOURCES[key]))
    assert STEPS[key](edited, plain_context()) == 1
    assert edited.device_output == {"y_Mul": "y"}
    assert edited.device_nodes == {"y_Mul"}
    operation, factor = edited.producer("y_Mul"), edited.producer("y")
    assert operation is not None
    assert factor is not None
    assert (operation.name, factor.name, list(factor.input)) == ("n", "y_Mul", ["y_Mul", "y_Scale"])
    assert edited.shape("y_Mul") == edited.shape("y")


def test_softmax_is_quantized_as_a_whole() -> None:
    edited = Graph(model(SOURCES[SOFTMAX]))
    assert STEPS[SOFTMAX](edited, plain_context()) == 1
    assert edited.device_nodes == {node.name for node in edited} - {"n"}
    original = edited.simulated_node["n"]
    assert (original.op_type, list(original.input), list(original.output)) == ("Softmax", ["x"], ["y"])


@pytest.mark.parametrize("key", SOURCES)
def test_what_the_request_leaves_float_is_not_simulated(key: str) -> None:
    edited = Graph(model(SOURCES[key]))
    assert STEPS[key](edited, asked(nodes_to_exclude=("n",))) == 0
    assert [skip.reason for skip in edited.skips] == ["in nodes_to_exclude"]


def test_who_selects_sigmoid_selects_what_stands_for_it() -> None:
    run = asked(op_types=("Sigmoid",))
    edited = Graph(model(SOURCES[SIGMOID]))
    assert STEPS[SIGMOID](edited, run) == 1
    assert run.refusal(next(iter(edited))) is None


def test_switches() -> None:
    assert {key: step.option.default for key, step in STEPS.items() if step.option} == {
        LEAKY: True,
        SIGMOID: True,
        HARD: True,
        POOL: True,
        MEAN: True,
        SOFTMAX: False,
    }
    assert all(step.option is not None and step.option.needs == "SimulateDPU" for step in SIMULATION)
    assert all(step.stage is Stage.SIMULATE and step.changes_function for step in SIMULATION)


def test_names_that_the_graph_has_already() -> None:
    source = model("t (float[1, 2, 3, 3] x) => (float[1, 2, 1, 1] y) { y_Mul = Abs(x) y = GlobalAveragePool(y_Mul) }")
    for plain, simulated in simulate(POOL, source):
        np.testing.assert_allclose(simulated, plain * np.float32(0.984375), rtol=1e-6)


def test_half_precision_gets_a_factor_of_its_own_type() -> None:
    source = model("t (float16[1, 2, 3, 3] x) => (float16[1, 2, 1, 1] y) { y = GlobalAveragePool(x) }")
    result = check_transform(STEPS[POOL], source)
    scale = next(tensor for tensor in result.graph.initializer if tensor.name == "y_Scale")
    assert scale.data_type == TensorProto.FLOAT16
    assert float(numpy_helper.to_array(scale)) == 0.984375


@pytest.mark.parametrize("first", ["double", "float"])
def test_a_softmax_that_stays_is_not_the_last_one(first: str) -> None:
    """float64 is no type of the device's Softmax; the next node is looked at all the same."""
    source = graph(
        f"t ({first}[2, 3] a, float[2, 3] b) => ({first}[2, 3] y, float[2, 3] z) {{ y = Softmax(a) z = Softmax(b) }}"
    )
    edited = Graph(source)
    assert STEPS["ConvertSoftmaxToDPUVersion"](edited, plain_context()) == 1 + (first == "float")
    assert [skip.reason for skip in edited.skips] == (["its input is not float32"] if first == "double" else [])
