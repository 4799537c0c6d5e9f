"""Graph optimization folds constants, but none into a file many times as large."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.testing import graph

RNG = np.random.default_rng(0)
CONV = {"w": RNG.standard_normal((8, 3, 1, 1)).astype(np.float32), "b": np.zeros(8, np.float32)}
SHAPE = [1, 8, 64, 64]  # 128 KB


def constants(**more: Any) -> dict[str, Any]:
    return {**CONV, **{name: np.asarray(value) for name, value in more.items()}}


ROW = RNG.standard_normal((1, 8, 1, 1)).astype(np.float32)
ENLARGED = {
    "Tile": ("g = Tile(row, reps)", constants(row=ROW, reps=[1, 1, 64, 64])),
    "Expand": ("g = Expand(row, shape)", constants(row=ROW, shape=SHAPE)),
    "ConstantOfShape": ("g = ConstantOfShape <value = float[1] {0.5}> (shape)", constants(shape=SHAPE)),
    "broadcast": (
        "g = Mul(col, line)",
        constants(col=RNG.standard_normal((1, 8, 64, 1)).astype(np.float32), line=np.ones((1, 1, 1, 64), np.float32)),
    ),
    "Range": (
        "r = Range(zero, many, one) f = Cast<to = 1>(r) s = Mul(f, small) g = Reshape(s, shape)",
        constants(zero=np.int64(0), many=np.int64(8 * 64 * 64), one=np.int64(1), small=np.float32(1e-4), shape=SHAPE),
    ),
    "OneHot": (
        "o = OneHot<axis = -1>(index, depth, onoff) g = Reshape(o, shape)",
        constants(index=np.arange(64) % 7, depth=np.int64(512), onoff=np.float32([0, 1]), shape=SHAPE),
    ),
    "ScatterND": (
        "z = ConstantOfShape(shape) g = ScatterND(z, at, what)",
        constants(shape=SHAPE, at=[[0, 0, 1, 1], [0, 2, 3, 3]], what=np.float32([0.5, 0.25])),
    ),
    "Trilu": (
        "z = ConstantOfShape <value = float[1] {0.5}> (shape) g = Trilu<upper = 1>(z)",
        constants(shape=SHAPE),
    ),
    "in a body": (
        "c = Greater(peak, zero) g = If(c) <then_branch = t () => (float[1, 8, 64, 64] v) { v = Tile(row, reps) }, "
        "else_branch = e () => (float[1, 8, 64, 64] u) { u = ConstantOfShape(shape) }>",
        constants(row=ROW, reps=[1, 1, 64, 64], shape=SHAPE, zero=np.float32(0)),
    ),
}


@pytest.mark.parametrize("kind", ENLARGED)
def test_no_constant_is_folded_into_a_larger_one(kind: str) -> None:
    text, values = ENLARGED[kind]
    peak = "peak = ReduceMax<keepdims = 0>(h) " if kind == "in a body" else ""
    source = graph(
        f"t (float[1, 3, 64, 64] x) => (float[1, 8, 64, 64] y) {{ h = Conv(x, w, b) {peak}{text} y = Add(h, g) }}",
        17,
        values,
    )
    found = quantize_static(source, None, [{"x": RNG.standard_normal((1, 3, 64, 64)).astype(np.float32)}])
    assert found.model.ByteSize() < source.ByteSize() + 32_000
    assert found.report.sqnr["y"] > 25


def test_what_does_not_grow_is_folded() -> None:
    """A Transpose of a large weight gives a weight, also beside what may not be folded."""
    source = graph(
        "t (float[1, 256] x) => (float[64, 256] y) { k = Transpose(w) m = MatMul(x, k) g = Tile(row, reps) "
        "y = Add(m, g) }",
        17,
        {
            "w": RNG.standard_normal((256, 256)).astype(np.float32),
            "row": RNG.standard_normal((1, 256)).astype(np.float32),
            "reps": np.array([4096 // 64, 1]),
        },
    )
    found = quantize_static(source, None, [{"x": RNG.standard_normal((1, 256)).astype(np.float32)}])
    assert "Transpose" not in {node.op_type for node in found.model.graph.node}
    assert found.report.sqnr["y"] > 25


def test_defaults_that_the_model_does_not_state_are_not_stated() -> None:
    """onnxruntime writes them out for every node that it saves."""
    body = "h = Conv(x, w, b) r = Relu(h) y = Conv<group = 1>(r, k, b)"
    values = {**CONV, "k": RNG.standard_normal((8, 8, 1, 1)).astype(np.float32)}
    source = graph(f"t (float[1, 3, 8, 8] x) => (float[1, 8, 8, 8] y) {{ {body} }}", 17, values)
    found = quantize_static(source, None, [{"x": RNG.standard_normal((1, 3, 8, 8)).astype(np.float32)}]).model
    first, second = (node for node in found.graph.node if node.op_type == "Conv")
    assert {entry.name for entry in first.attribute} & {"auto_pad", "group"} == set()
    assert {entry.name for entry in second.attribute} & {"auto_pad", "group"} == {"group"}
