"""Squares, inverses and constants are found in each way of writing them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.graph.patterns import inverse_of, is_closed, made_by, operands, square_of, with_constant
from ort_vitis_plugin.testing import graph

CONSTANTS = {"one": np.float32(1), "two": np.float32(2), "pair": np.ones(2, np.float32)}


def whole(body: str) -> Graph:
    return Graph(graph(f"t (float[2] x, float[2] z) => (float[2] y) {{ {body} }}", 17, CONSTANTS))


@pytest.mark.parametrize(
    ("body", "x"),
    [("y = Mul(x, x)", "x"), ("y = Pow(x, two)", "x"), ("y = Mul(x, z)", None), ("y = Pow(x, one)", None)],
)
def test_squares(body: str, x: str | None) -> None:
    found = square_of(whole(body), "y")
    assert (None if found is None else found[0]) == x


@pytest.mark.parametrize(
    ("body", "x"),
    [("y = Reciprocal(x)", "x"), ("y = Div(one, x)", "x"), ("y = Div(two, x)", None), ("y = Abs(x)", None)],
)
def test_inverses(body: str, x: str | None) -> None:
    found = inverse_of(whole(body), "y")
    assert (None if found is None else found[0]) == x


@pytest.mark.parametrize(
    ("body", "found"), [("y = Add(x, two)", ("x", 2.0)), ("y = Add(two, x)", ("x", 2.0)), ("y = Add(x, pair)", None)]
)
def test_a_constant_of_one_element(body: str, found: tuple[str, float] | None) -> None:
    graph_ = whole(body)
    assert with_constant(graph_, next(iter(graph_))) == found


def test_producers_and_operands() -> None:
    graph_ = whole("h = Add(x, z) y = Relu(h)")
    node = graph_.producer("h")
    assert made_by(graph_, "h", "Add") is node
    assert made_by(graph_, "h", "Mul") is None
    assert node is not None
    assert list(operands(node)) == [("x", "z"), ("z", "x")]


def test_a_pattern_that_others_read_is_open() -> None:
    graph_ = whole("h = Abs(x) k = Neg(h) y = Relu(k)")
    inner = [graph_.producer(name) for name in ("h", "k")]
    last = graph_.producer("y")
    assert is_closed(graph_, inner, last)  # type: ignore[arg-type]
    open_ = whole("h = Abs(x) k = Neg(h) y = Add(k, h)")
    assert not is_closed(open_, [open_.producer("h")], open_.producer("k"))  # type: ignore[list-item, arg-type]
