"""Tensors that share have one leader, and a fused tensor is known by its end."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np

from ort_vitis_plugin.plan import Int32Bias
from ort_vitis_plugin.testing import graph, plan

TEXT = "t (float[2] x) => (float[2] y) { a = Relu(x) b = Relu(a) y = Relu(b) }"


def made():
    return plan(graph(TEXT), {"x": 3, "a": 4, "b": 5, "y": 6})


def test_sharing_leads_to_one_leader() -> None:
    planned = made()
    planned.share("a", "x")
    planned.share("b", "a")
    assert [planned.leader(name) for name in ("x", "a", "b", "y")] == ["x", "x", "x", "y"]
    assert planned.of("b") is planned.tensors["x"]
    assert planned.current() == {"x": 3, "y": 6}


def test_sharing_with_oneself_makes_no_circle() -> None:
    planned = made()
    planned.share("a", "x")
    planned.share("x", "a")
    assert planned.leader("x") == planned.leader("a") == "x"


def test_a_fused_tensor_has_the_position_of_its_end() -> None:
    planned = made()
    planned.fused = {"a": "b", "b": "y"}
    assert planned.fused_end("a") == "y"
    assert planned.position("a").name == "y"


def test_a_copy_can_be_moved_alone() -> None:
    planned = made()
    planned.record("x", "one")
    other = planned.copy()
    other.tensors["x"].move(9)
    other.record("x", "two")
    assert planned.tensors["x"].position == 3
    assert planned.changes == {"x": ["one"]}


def test_what_is_not_planned_has_nothing() -> None:
    assert made().of("nobody") is None
    assert made().position("nobody").name is None


def test_a_bias_has_the_scale_of_its_product_where_both_factors_have_one() -> None:
    planned = made()
    planned.tensors["a"].scale = np.array([0.5, 0.25], np.float32)
    found = planned.product_scale(Int32Bias("n", "x", "a", beta=2.0))
    assert found is not None
    assert found.tolist() == [2 * 2.0**-3 * 0.5, 2 * 2.0**-3 * 0.25]
    assert planned.product_scale(Int32Bias("n", "nobody", "a")) is None
    assert planned.product_scale(Int32Bias("n", "x", "nobody")) is None
