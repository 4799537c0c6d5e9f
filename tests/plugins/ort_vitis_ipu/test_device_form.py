"""The DPU has one HardSigmoid, and what only simulates it is looked through."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest
from onnx import helper

from ort_vitis_ipu.device_form import device_producer, device_tensor, is_device_hard_sigmoid
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import graph


@pytest.mark.parametrize(
    ("op_type", "attributes", "expected"),
    [
        ("HardSigmoid", {"alpha": 1 / 6, "beta": 0.5}, True),
        ("HardSigmoid", {"alpha": 1 / 6}, True),
        ("HardSigmoid", {"alpha": 0.166667}, True),
        ("HardSigmoid", {}, False),
        ("HardSigmoid", {"alpha": 0.2, "beta": 0.5}, False),
        ("HardSigmoid", {"alpha": 1 / 6, "beta": 0.6}, False),
        ("HardSigmoid", {"alpha": 1 / 6, "beta": 0.4}, False),
        ("Sigmoid", {"alpha": 1 / 6, "beta": 0.5}, False),
    ],
)
def test_the_hard_sigmoid_of_the_device(op_type: str, attributes: dict[str, float], expected: bool) -> None:
    assert is_device_hard_sigmoid(helper.make_node(op_type, ["x"], ["y"], **attributes)) is expected


def test_nodes_that_only_simulate_are_looked_through() -> None:
    whole = Graph(graph("t (float[2] x) => (float[2] y) { [sum] a = Relu(x) [factor] b = Neg(a) y = Abs(b) }"))
    whole.device_nodes.add("factor")
    whole.device_output["a"] = "b"
    found = device_producer(whole, "b")
    assert found is not None
    assert found.name == "sum"
    assert device_producer(whole, "x") is None
    assert (device_tensor(whole, "a"), device_tensor(whole, "y")) == ("b", "y")
