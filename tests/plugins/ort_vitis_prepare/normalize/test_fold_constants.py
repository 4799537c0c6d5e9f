"""Constants fold unless the result is much larger than what it is made of."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import plain_context
from tests.plugins.ort_vitis_prepare.normalize.graph_steps import STEPS, model


@pytest.mark.parametrize("stated", [True, False])
@pytest.mark.parametrize(
    ("body", "sides"),
    [("y = Expand(c, n)", 3), ("y = Tile(c, n)", 3), ("e = Add(c, d) y = Mul(e, d)", 0)],
    ids=["Expand", "Tile", "arithmetic"],
)
@pytest.mark.parametrize("side", [4, 200])
def test_nothing_is_folded_that_grows_far_beyond_its_inputs(body: str, sides: int, side: int, stated: bool) -> None:
    """64 KB more than the inputs; the size is known before the values are computed, shapes stated or not."""
    c = np.ones((side, 1), np.float32) if not sides else np.ones((1, 1), np.float32)
    constants = {"c": c, "n": np.array([side, side])} if sides else {"c": c, "d": np.ones((1, side), np.float32)}
    source = model(body.replace("y = ", "f = ") + " y = Sub(x, f)", 17, "(float[1, 1] x) => (float[] y)", **constants)
    if not stated:
        del source.graph.value_info[:]
    edited = Graph(source)
    STEPS["FoldConstants"](edited, plain_context())
    assert ("much larger" in " ".join(skip.reason for skip in edited.skips)) == (side == 200)
    assert ("f" in edited.initializers) == (side == 4)
