"""A batch norm is a x + c, in float64, or says why it is not."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.graph.batch_norm import batch_norm_affine
from ort_vitis_plugin.testing import graph, run_model

PARTS = {"g": [1.5, -2], "b": [0.25, 1], "m": [0.5, -1], "v": [2, 0.5]}
CONSTANTS = {name: np.array(values, np.float32) for name, values in PARTS.items()}
TEXT = "t (float[1,2,3] x) => (float[1,2,3] y) {{ y = BatchNormalization{}(x, g, b, m, v) }}"


def test_it_is_what_onnxruntime_computes() -> None:
    whole = Graph(graph(TEXT.format("<epsilon = 0.01>"), 17, CONSTANTS))
    found = batch_norm_affine(whole, next(iter(whole)))
    assert not isinstance(found, str)
    a, c = (part.reshape(1, 2, 1) for part in found)
    x = np.random.default_rng(0).standard_normal((1, 2, 3)).astype(np.float32)
    np.testing.assert_allclose(a * x + c, run_model(whole.to_model(), {"x": x})["y"], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("attributes", "changed", "message"),
    [
        ("<training_mode = 1>", {}, "training"),
        ("", {"v": np.array([-1, 1], np.float32)}, "not positive"),
        ("", {"m": np.array([np.inf, 1], np.float32)}, "not finite"),
    ],
)
def test_it_says_why_not(attributes: str, changed: dict[str, np.ndarray], message: str) -> None:
    whole = Graph(graph(TEXT.format(attributes), 17, CONSTANTS | changed))
    assert message in str(batch_norm_affine(whole, next(iter(whole))))
