"""A step is called with what its function takes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import pytest
from onnx import ModelProto

from ort_vitis_plugin.api import (
    Context,
    Correction,
    Graph,
    ModelTransform,
    Namespace,
    Option,
    Preset,
    Stage,
    Target,
    transform,
)
from ort_vitis_plugin.plugin.declarations import declared_options, is_declaration
from ort_vitis_plugin.testing import graph, plain_context

RELU = "t (float[2] x) => (float[2] y) { y = Relu(x) }"


def test_a_rewrite_sees_the_graph_and_if_it_likes_the_context() -> None:
    @transform("Alone", stage=Stage.PREPARE)
    def alone(graph: Graph) -> int:
        """One."""
        return 1

    @transform("Both", stage=Stage.PREPARE)
    def both(graph: Graph, context: Context) -> int:
        """As many as bits."""
        return context.activation.bits

    @transform("Old", stage=Stage.PREPARE)
    def old(graph: Graph, run: Any = None) -> int:
        """A step of the release before."""
        return int(run.activation.bits)

    edited, context = Graph(graph(RELU)), plain_context(activation_type="QInt16")
    assert [step(edited, context) for step in (alone, both, old)] == [1, 16, 16]
    assert edited.step == "Old"


def test_a_rewrite_of_the_model_does_too() -> None:
    def alone(model: ModelProto) -> ModelProto:
        return model

    def both(model: ModelProto, context: Context) -> ModelProto:
        context.note("seen")
        return model

    model, context = graph(RELU), plain_context()
    for apply in (alone, both):
        assert ModelTransform("Step", "A step.", apply)(model, context) is model
    assert context.report.notes == ["seen"]


SWITCH = Option("Mine", bool, False, "Mine.")
DECLARED = {
    "preset": (Preset("p", "A preset."), "p"),
    "correction": (Correction("Mine", "Mine.", SWITCH, lambda plan, graph, samples, context: 0), "Mine"),
    "namespace": (Namespace(("a", "a.b"), "Names.", lambda module: {}), ("a", "a.b")),
    "target": (Target("t", "A target."), "t"),
}


@pytest.mark.parametrize(("declaration", "key"), DECLARED.values(), ids=DECLARED)
def test_declarations_have_a_key(declaration: Any, key: object) -> None:
    assert is_declaration(declaration)
    assert declaration.key == key
    assert list(declared_options(declaration)) == ([SWITCH] if isinstance(declaration, Correction) else [])
