"""Every name that a written model adds to its tensors ends in a suffix that is reserved."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np

import ort_vitis_plugin
from ort_vitis_plugin.emission.names import GENERATED_SUFFIXES
from ort_vitis_plugin.testing import graph, random_feeds


def test_generated_names_are_reserved() -> None:
    model = graph(
        "t (float[1,4] x) => (float[1,4] y) { h = MatMul(x, w) y = Relu(h) }", 17, {"w": np.eye(4, dtype=np.float32)}
    )
    result = ort_vitis_plugin.quantize_static(model, None, [random_feeds(model)]).model
    known = {"x", "w", "h", "y"}
    made = {name for node in result.graph.node for name in (*node.input, *node.output)} - known
    assert made
    assert [name for name in made if not any(name == base + end for base in known for end in GENERATED_SUFFIXES)] == []
