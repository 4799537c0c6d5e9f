"""A gate that never opened in calibration still has room to open."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.onnx_io.sessions import open_session
from tests.zoo.configurations import CPU, NPU_CNN

if TYPE_CHECKING:
    from onnx import ModelProto


def gate(op_type: str) -> ModelProto:
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node(op_type, ["x"], ["g"], "gate"), helper.make_node("Mul", ["g", "g"], ["y"], "mul")],
        "gate",
        [value("x", TensorProto.FLOAT, [1, 64])],
        [value("y", TensorProto.FLOAT, [1, 64])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def step_of(model: ModelProto, tensor: str) -> float:
    """The step of the codes that stand for a tensor."""
    constants = {each.name: each for each in model.graph.initializer}
    node = next(n for n in model.graph.node if n.op_type == "QuantizeLinear" and n.input[0] == tensor)
    return float(np.frombuffer(constants[node.input[1]].raw_data, np.float32)[0])


@pytest.mark.parametrize(("configuration", "codes"), [(NPU_CNN, 127), (CPU, 255)], ids=["NPU", "CPU"])
@pytest.mark.parametrize(("op_type", "low"), [("Sigmoid", -9.0), ("Tanh", 0.0)])
def test_a_gate_that_never_opened_has_room_for_a_quarter(
    configuration: dict[str, Any], codes: int, op_type: str, low: float
) -> None:
    draw = np.random.default_rng(0)
    samples = [{"x": draw.uniform(low - 0.01, low + 0.01, (1, 64)).astype(np.float32)} for _ in range(4)]
    result = quantize_static(gate(op_type), None, samples, **configuration)
    assert step_of(result.model, "g") >= 0.25 / codes
    opened = {"x": np.full((1, 64), np.log(0.2 / 0.8) if op_type == "Sigmoid" else np.arctanh(0.2), np.float32)}
    assert not result.report.violations
    gates = open_session(result.model).run(None, opened)[0]
    assert gates.shape == (1, 64)


@pytest.mark.parametrize("configuration", [NPU_CNN, CPU], ids=["NPU", "CPU"])
def test_a_gate_that_opened_keeps_the_range_of_its_values(configuration: dict[str, Any]) -> None:
    draw = np.random.default_rng(0)
    samples = [{"x": draw.uniform(-4, -3, (1, 64)).astype(np.float32)} for _ in range(4)]
    result = quantize_static(gate("Sigmoid"), None, samples, **configuration)
    assert step_of(result.model, "g") <= 2.0**-11
