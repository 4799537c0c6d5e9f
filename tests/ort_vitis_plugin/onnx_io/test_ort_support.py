"""What the installed onnxruntime is said to run, it runs; what it is said not to, it refuses."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from ort_vitis_plugin.onnx_io.ort_support import KNOWN_PAIRS, has_float8, has_float8_pairs, has_native_pairs
from ort_vitis_plugin.testing import graph, runs


@pytest.mark.parametrize("opset", [*range(10, KNOWN_PAIRS + 1), onnx.defs.onnx_opset_version()])
def test_native_pairs_are_where_onnxruntime_runs_them(opset: int) -> None:
    known = onnx.defs.get_schema("QuantizeLinear", opset).since_version <= KNOWN_PAIRS
    if known and not runs("t (float[2] x) => (float[2] y) { y = Relu(x) }", opset):
        pytest.skip("this onnxruntime takes no model of this opset")
    text = """t (float[2] x) => (int8[2] y) {
        s = Constant<value = float {1.0}>()
        z = Constant<value = int8 {0}>()
        y = QuantizeLinear(x, s, z) }"""
    assert has_native_pairs(opset) == runs(text, opset)


def test_float8_is_known_and_integers_are_none() -> None:
    assert has_float8_pairs(TensorProto.FLOAT8E4M3FN)
    assert not has_float8_pairs(TensorProto.INT64)


def test_pairs_that_onnxruntime_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    """onnx's releases run ahead: a newer schema is tried, and its opset is none that onnxruntime loads."""
    newer = onnx.defs.get_schema("QuantizeLinear", KNOWN_PAIRS)

    class Schema:
        since_version = 999

    monkeypatch.setattr(onnx.defs, "get_schema", lambda *_: Schema)
    assert not has_native_pairs(999)
    assert newer.since_version <= KNOWN_PAIRS


@pytest.mark.parametrize(
    ("text", "has"),
    [
        ("q = QuantizeLinear<output_dtype = 17>(x, s) y = DequantizeLinear(q, s)", True),
        ("q = QuantizeLinear(x, s) y = DequantizeLinear(q, s)", False),
        ("y = DequantizeLinear(c, s)", True),
    ],
)
def test_float8_is_found_where_it_is_made_and_where_it_is_stored(text: str, has: bool) -> None:
    model = graph(f"t (float[2] x) => (float[2] y) {{ {text} }}", 21, {"s": np.float32(1)})
    if "c," in text:
        model.graph.initializer.append(helper.make_tensor("c", TensorProto.FLOAT8E5M2, (2,), [1.0, 2.0]))
    assert has_float8(model) is has
