"""Nodes that onnxruntime's optimizer made, and those in whose place they stand."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest

from ort_vitis_plugin.pipeline.fused_nodes import fused_nodes
from ort_vitis_plugin.testing import graph

BEFORE = graph("""t (float[2, 4] x, float[4, 4] w, float[4] b) => (float[2, 4] y) {
  [m] t = MatMul(x, w) [a] u = Add(t, b) [c] k = Constant<value = float {2.0}>() [s] v = Mul(u, k) [r] y = Relu(v) }""")

# What the optimizer left -> what each made node stands for.
AFTER = {
    "[m] t = MatMul(x, w) [a] u = Add(t, b) [s] v = Mul(u, w) [r] y = Relu(v)": {},
    "[made] u = Gemm(x, w, b) [s] v = Mul(u, b) [r] y = Relu(v)": {"made": ["m", "a"]},
    "[m] v = Gemm(x, w, b) [r] y = Relu(v)": {"m": ["m", "a", "s"]},
    "[all] y = Sum(x, w, b)": {"all": ["m", "a", "s", "r"]},
}


@pytest.mark.parametrize("left", AFTER)
def test_a_made_node_stands_for_what_is_gone(left: str) -> None:
    after = graph(f"t (float[2, 4] x, float[4, 4] w, float[4] b) => (float[2, 4] y) {{ {left} }}")
    found = fused_nodes(BEFORE, after)
    assert {name: [node.name for node in nodes] for name, nodes in found.items()} == AFTER[left]
