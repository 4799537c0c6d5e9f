"""Which tensors the NPU's own handlers mark, seen by a quantizer that only writes it down."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from ort_vitis_ipu.operators import OPERATORS
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import graph

HANDLERS = {handler.op_type: handler.quantizer for handler in OPERATORS}


@dataclass
class Notes:
    """Takes the marking calls of a handler."""

    graph: Graph
    op_types_to_exclude_output_quantization: list[str] = field(default_factory=list)
    activations: list[str] = field(default_factory=list)
    weights: list[str] = field(default_factory=list)

    def is_input_a_initializer(self, name: str) -> bool:
        return self.graph.is_constant(name)

    def quantize_activation_tensor(self, name: str) -> None:
        self.activations.append(name)

    def quantize_weight_tensor(self, name: str) -> None:
        self.weights.append(name)


def mark(text: str, *, excluded: bool = False, opset: int = 17) -> Notes:
    edited = Graph(graph(f"t (float[2, 3] x, float[3] a, float[3] b) => (float[2, 3] y) {text}", opset))
    node = edited.producer("y")
    assert node is not None
    notes = Notes(edited, [node.op_type] if excluded else [])
    HANDLERS[node.op_type](notes, node).quantize()
    return notes


CONSTANTS = "<float[3] s = {1, 2, 3}, float[3] c = {0, 0, 1}>"

MARKED = {
    "HardSigmoid": ("{ y = HardSigmoid<alpha = 0.1666667>(x) }", ["x", "y"], []),
    "HardSigmoid, beta given": ("{ y = HardSigmoid<alpha = 0.1666667, beta = 0.5>(x) }", ["x", "y"], []),
    "HardSigmoid, alpha 0.2": ("{ y = HardSigmoid(x) }", [], []),
    "HardSigmoid, alpha off by 1e-5": ("{ y = HardSigmoid<alpha = 0.16668>(x) }", [], []),
    "HardSigmoid, beta 0.6": ("{ y = HardSigmoid<alpha = 0.1666667, beta = 0.6>(x) }", [], []),
    "LayerNormalization": (CONSTANTS + "{ y = LayerNormalization(x, s, c) }", ["x", "y"], ["s", "c"]),
    "LayerNormalization without bias": (CONSTANTS + "{ y = LayerNormalization(x, s) }", ["x", "y"], ["s"]),
    "LayerNormalization, computed": ("{ y = LayerNormalization(x, a, b) }", ["x", "y", "a", "b"], []),
    "LayerNormalization with statistics": (
        CONSTANTS + "{ y, mean, deviation = LayerNormalization(x, s, c) }",
        ["x", "y"],
        ["s", "c"],
    ),
    "PRelu": (CONSTANTS + "{ y = PRelu(x, s) }", ["x", "y"], ["s"]),
    "PRelu with a computed slope": ("{ y = PRelu(x, a) }", ["x", "y", "a"], []),
}


@pytest.mark.parametrize("case", MARKED)
def test_marks(case: str) -> None:
    text, activations, weights = MARKED[case]
    notes = mark(text)
    assert (notes.activations, notes.weights) == (activations, weights)


@pytest.mark.parametrize("case", ["HardSigmoid", "LayerNormalization", "PRelu"])
def test_output_can_be_left_out(case: str) -> None:
    assert mark(MARKED[case][0], excluded=True).activations == ["x"]
