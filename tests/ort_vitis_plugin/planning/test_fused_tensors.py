"""A tensor that is dropped leaves its parameters to those who shared them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin.planning.fused_tensors import drop
from ort_vitis_plugin.testing import graph, plan

TEXT = "t (float[2] x) => (float[2] y) { a = Relu(x) b = Relu(a) y = Relu(b) }"


def made(**provider: str):
    planned = plan(graph(TEXT), {"x": 3, "a": 4, "b": 5, "y": 6})
    planned.provider.update(provider)
    return planned


def test_followers_take_the_provider_of_what_goes() -> None:
    planned = made(a="x", b="a")
    drop(planned, "a")
    assert "a" not in planned
    assert planned.provider == {"b": "x"}


def test_without_a_provider_the_first_follower_takes_over() -> None:
    planned = made(b="a", y="a")
    drop(planned, "a")
    assert planned.provider == {"y": "b"}
    assert planned.tensors["b"].position == 4


def test_a_tensor_alone_just_goes() -> None:
    planned = made()
    drop(planned, "b")
    assert (list(planned.tensors), planned.provider) == (["x", "a", "y"], {})
