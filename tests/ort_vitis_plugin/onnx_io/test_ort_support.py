"""What the installed onnxruntime can load is found by asking it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto

from ort_vitis_plugin.onnx_io.ort_support import KNOWN_PAIRS, has_float8_pairs, has_native_pairs
from ort_vitis_plugin.onnx_io.sessions import open_session
from ort_vitis_plugin.testing import graph


@pytest.mark.parametrize("opset", [13, 19, KNOWN_PAIRS, onnx.defs.onnx_opset_version()])
def test_pairs_of_an_opset(opset: int) -> None:
    model = graph("t (float[2] x) => (int8[2] y) { y = QuantizeLinear(x, s, z) }", opset)
    model.graph.initializer.append(onnx.helper.make_tensor("s", TensorProto.FLOAT, [], [0.5]))
    model.graph.initializer.append(onnx.helper.make_tensor("z", TensorProto.INT8, [], [0]))
    try:
        open_session(model)
        loads = True
    except Exception:
        loads = False
    assert has_native_pairs(opset) == loads


def test_pairs_that_onnxruntime_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    """onnx's releases run ahead: a newer schema is tried, and its opset is none that onnxruntime loads."""
    newer = onnx.defs.get_schema("QuantizeLinear", KNOWN_PAIRS)

    class Schema:
        since_version = 999

    monkeypatch.setattr(onnx.defs, "get_schema", lambda *_: Schema)
    assert not has_native_pairs(999)
    assert newer.since_version <= KNOWN_PAIRS


def test_types_of_float8() -> None:
    assert has_float8_pairs(TensorProto.FLOAT8E4M3FN)
    assert not has_float8_pairs(TensorProto.FLOAT)
