"""Nodes come behind what they read, in today's order where it is free."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest
from onnx import ModelProto, helper

from ort_vitis_plugin.errors import ModelError
from ort_vitis_plugin.graph import Graph


def names(*nodes: tuple[str, str]) -> list[str]:
    """Names of sorted nodes, each given as its output and the letters of its inputs."""
    model = ModelProto()
    model.graph.node.extend(helper.make_node("Sum", list(inputs), [name], name) for name, inputs in nodes)
    return [node.name for node in Graph(model).sorted()]


def test_an_order_that_holds_stays() -> None:
    assert names(("b", "x"), ("a", "x"), ("c", "ab")) == ["b", "a", "c"]


def test_readers_move_behind() -> None:
    assert names(("c", "ab"), ("a", "x"), ("b", "a")) == ["a", "b", "c"]


def test_a_circle_is_named() -> None:
    with pytest.raises(ModelError, match="cycle through"):
        names(("a", "b"), ("b", "a"))
