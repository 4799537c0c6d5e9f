"""What a conversion would have changed inside a body is told, at any depth."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin.convert.skipped_subgraphs import skip_bodies
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import graph

INNER = """[deep] z = If(c) <
  then_branch = i () => (float[2] a) { [relu] a = Relu(x) }, else_branch = e () => (float[2] b) { [abs] b = Abs(x) }>"""
MODEL = f"""t (float[2] x, bool c) => (float[2] y) {{ [outer] y = If(c) <
  then_branch = g () => (float[2] z) {{ {INNER} }}, else_branch = k () => (float[2] v) {{ [neg] v = Neg(x) }}> }}"""


def test_nodes_in_bodies_are_skipped_with_their_owner() -> None:
    whole = Graph(graph(MODEL))
    skip_bodies(whole, lambda node: node.op_type in ("Relu", "Neg"))
    assert {skip.node for skip in whole.skips} == {"relu", "neg"}
    assert all("'outer'" in skip.reason for skip in whole.skips)
