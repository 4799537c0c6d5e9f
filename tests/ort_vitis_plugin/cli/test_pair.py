"""Of two models the float one comes first."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from ort_vitis_plugin.cli.pair import checked_pair
from ort_vitis_plugin.errors import ModelError
from ort_vitis_plugin.testing import graph

QUANTIZED = """t (float[2] x) => (float[2] y) {
    s = Constant<value = float {1.0}>()  z = Constant<value = int8 {0}>()
    q = QuantizeLinear(x, s, z)  y = DequantizeLinear(q, s, z) }"""


def test_the_order_is_checked(tmp_path: Path) -> None:
    before, after = str(tmp_path / "float.onnx"), str(tmp_path / "quantized.onnx")
    onnx.save(graph("t (float[2] x) => (float[2] y) { y = Relu(x) }"), before)
    onnx.save(graph(QUANTIZED), after)
    first, second = checked_pair(before, after)
    assert (len(first.graph.node), len(second.graph.node)) == (1, 4)
    assert all(checked_pair(path, path) for path in (before, after))
    with pytest.raises(ModelError, match=r"is quantized and .* is not; give the float model first"):
        checked_pair(after, before)
