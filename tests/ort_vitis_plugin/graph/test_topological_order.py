"""Nodes come behind what they read, in today's order where it is free."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest
from onnx import helper

from ort_vitis_plugin.errors import ModelError
from ort_vitis_plugin.graph.topological_order import in_order


def node(name: str, inputs: str, output: str):
    return helper.make_node("Sum", list(inputs), [output], name)


def test_an_order_that_holds_stays() -> None:
    nodes = [node("b", "x", "b"), node("a", "x", "a"), node("c", "ab", "c")]
    assert [each.name for each in in_order(nodes)] == ["b", "a", "c"]


def test_readers_move_behind() -> None:
    nodes = [node("c", "ab", "c"), node("a", "x", "a"), node("b", "a", "b")]
    assert [each.name for each in in_order(nodes)] == ["a", "b", "c"]


def test_a_circle_is_named() -> None:
    with pytest.raises(ModelError, match="cycle through"):
        in_order([node("a", "b", "a"), node("b", "a", "b")])
