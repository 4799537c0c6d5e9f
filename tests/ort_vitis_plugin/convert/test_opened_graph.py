"""A node of ours that lacks an operand is told by every conversion, before any work."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from onnx import helper

from ort_vitis_plugin.convert import qdq_to_qoperator, quantized_to_float, standard_to_vitis, vitis_to_standard
from ort_vitis_plugin.convert.evaluation_twin import evaluation_twin
from ort_vitis_plugin.convert.opened_graph import opened_graph
from ort_vitis_plugin.custom_ops.domains import OURS
from ort_vitis_plugin.errors import ModelError
from ort_vitis_plugin.testing import graph

if TYPE_CHECKING:
    from collections.abc import Callable

    from onnx import ModelProto

CONVERSIONS = (evaluation_twin, qdq_to_qoperator, quantized_to_float, standard_to_vitis, vitis_to_standard)
MODEL = graph("t (float[2] x) => (float[2] z) { z = Relu(x) }")


def with_node(key: tuple[str, str], inputs: list[str], outputs: list[str]) -> ModelProto:
    model = type(MODEL)()
    model.CopyFrom(MODEL)
    model.graph.node.append(helper.make_node(key[1], inputs, outputs, "broken", domain=key[0]))
    return model


@pytest.mark.parametrize("convert", CONVERSIONS)
@pytest.mark.parametrize(("inputs", "outputs"), [(["x"], ["y"]), (["x", ""], ["y"]), ([], ["y"]), (["x", "s"], [])])
def test_it_is_named(convert: Callable[[ModelProto], object], inputs: list[str], outputs: list[str]) -> None:
    for key in sorted(OURS):
        with pytest.raises(ModelError, match="node 'broken' lacks its tensor, its scale or its result"):
            convert(with_node(key, inputs, outputs))


def test_the_graph_is_of_its_own_and_notes_for_the_step() -> None:
    before = MODEL.SerializeToString()
    found = opened_graph(MODEL, "a step")
    found.skip(next(iter(found)), "why")
    found.remove(next(iter(found)))
    assert [skip.step for skip in found.skips] == ["a step"]
    assert MODEL.SerializeToString() == before
