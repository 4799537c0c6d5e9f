"""Empty names go from the ends of lists, and from nowhere else."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest
from onnx import ModelProto, helper

from ort_vitis_plugin.graph import Graph
from ort_vitis_prepare.normalize.trim_inputs import trim_inputs


@pytest.mark.parametrize(
    ("inputs", "outputs", "left"),
    [
        (["a", ""], ["y"], (["a"], ["y"], 1)),
        (["a", "", "c", "", ""], ["y", "", "m"], (["a", "", "c"], ["y", "", "m"], 1)),
        (["a"], ["y", "", ""], (["a"], ["y"], 1)),
        (["a", ""], ["", "m", ""], (["a"], ["", "m"], 2)),
        (["", ""], [""], ([], [""], 1)),
        (["", "b"], ["", "m"], (["", "b"], ["", "m"], 0)),
    ],
)
def test_ends_alone(inputs: list[str], outputs: list[str], left: tuple[list[str], list[str], int]) -> None:
    model = ModelProto()
    model.graph.node.append(helper.make_node("Some", inputs, outputs, "n"))
    graph = Graph(model)
    count = trim_inputs.apply(graph)
    (node,) = graph
    assert (list(node.input), list(node.output), count) == left
