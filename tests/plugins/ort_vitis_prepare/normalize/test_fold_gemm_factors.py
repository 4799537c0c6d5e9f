"""alpha A B + beta C is A (alpha B) + (beta C), whichever of the factors is written down."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import check_transform, graph, plain_context
from ort_vitis_prepare.normalize.fold_gemm_factors import fold_gemm_factors

DRAW = np.random.default_rng(0)
CONSTANTS = {"w": np.float32(DRAW.normal(size=(4, 3))), "b": np.float32(DRAW.normal(size=3))}


def gemm(attributes: str, inputs: str = "x, w, b"):
    used = {name: value for name, value in CONSTANTS.items() if name in inputs}
    given = "float[3] c, " if "c" in inputs else ""
    return graph(f"t ({given}float[2, 4] x) => (float[2, 3] y) {{ y = Gemm{attributes}({inputs}) }}", 17, used)


@pytest.mark.parametrize(
    ("attributes", "inputs", "count", "left"),
    [
        ("", "x, w, b", 0, {}),
        ("<alpha = 0.5>", "x, w, b", 1, {"alpha": 1.0}),
        ("<beta = 0.5>", "x, w, b", 1, {"beta": 1.0}),
        ("<alpha = 0.5, beta = 2.0>", "x, w, b", 2, {"alpha": 1.0, "beta": 1.0}),
        ("<alpha = 0.5, beta = 2.0>", "x, w", 2, {"alpha": 1.0, "beta": 1.0}),
        ("<alpha = 0.5, beta = 2.0>", "x, w, c", 1, {"alpha": 1.0, "beta": 2.0}),
        ("<alpha = 1.0, beta = 1.0>", "x, w, b", 0, {"alpha": 1.0, "beta": 1.0}),
    ],
)
def test_factors_move_into_what_is_constant(attributes: str, inputs: str, count: int, left: dict[str, float]) -> None:
    source = gemm(attributes, inputs)
    assert fold_gemm_factors(Graph(source), plain_context()) == count
    (node,) = check_transform(fold_gemm_factors, source, tolerance=1e-6).graph.node
    assert {entry.name: entry.f for entry in node.attribute} == left


def test_what_the_request_names_keeps_its_values() -> None:
    edited = Graph(gemm("<alpha = 0.5, beta = 2.0>"))
    edited.kept.add("w")
    assert fold_gemm_factors(edited, plain_context()) == 1
    assert [skip.reason for skip in edited.skips] == ["the request names w"]
    (node,) = edited
    assert list(node.input)[:2] == ["x", "w"]
