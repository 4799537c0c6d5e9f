"""Transposes and Reshapes that give a tensor back as it was."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto

from ort_vitis_plugin.api import Stage
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import check_transform, graph, op_types, plain_context
from ort_vitis_prepare.normalize.remove_moves import LONGEST, remove_moves


def model(body: str, opset: int = 17, x: str = "2, 3, 4", y: str = "2, 3, 4", **constants: object) -> ModelProto:
    arrays = {name: np.asarray(value) for name, value in constants.items()}
    return graph(f"t (float[{x}] x) => (float[{y}] y) {{ {body} }}", opset, arrays)


REMOVED: dict[str, tuple[ModelProto, list[str]]] = {
    "Transpose twice": (model("a = Relu(x) b = Transpose(a) c = Transpose(b) y = Neg(c)"), ["Relu", "Neg"]),
    "three turns": (
        model(
            "a = Transpose<perm = [1, 2, 0]>(x) b = Transpose<perm = [1, 2, 0]>(a) c = Transpose<perm = [1, 2, 0]>(b) "
            "y = Neg(c)"
        ),
        ["Neg"],
    ),
    "a turn of nothing": (model("a = Transpose<perm = [0, 1, 2]>(x) y = Neg(a)"), ["Neg"]),
    "one pair inside another": (
        model("a = Transpose(x) u = Unsqueeze(a, n) s = Squeeze(u, n) b = Transpose(s) y = Neg(b)", n=[0]),
        ["Neg"],
    ),
    "Unsqueeze and Squeeze": (model("u = Unsqueeze(x, n) s = Squeeze(u, n) y = Neg(s)", n=[1]), ["Neg"]),
    "axes as attributes": (model("u = Unsqueeze<axes = [0]>(x) s = Squeeze<axes = [0]>(u) y = Neg(s)", 11), ["Neg"]),
    "Reshape and back": (
        model("f = Reshape(x, n) r = Reshape(f, s) y = Neg(r)", n=[-1], s=[2, 3, 4]),
        ["Neg"],
    ),
    "Flatten and back": (model("f = Flatten(x) r = Reshape(f, s) y = Neg(r)", s=[2, 3, 4]), ["Neg"]),
    "Reshape to the same shape": (model("r = Reshape(x, s) y = Neg(r)", s=[2, 3, 4]), ["Neg"]),
    "a free dimension that stays": (
        model("u = Unsqueeze(x, n) s = Squeeze(u, n) y = Neg(s)", x="B, 3", y="B, 3", n=[1]),
        ["Neg"],
    ),
    "before the output": (model("a = Relu(x) b = Transpose(a) y = Transpose(b)"), ["Relu"]),
    "somebody reads what lies between": (
        graph(
            "t (float[2, 3] x) => (float[2, 3] y, float[3, 2] z) "
            "{ a = Transpose(x) b = Transpose(a) y = Neg(b) z = Abs(a) }"
        ),
        ["Transpose", "Abs", "Neg"],
    ),
}
LEFT_ALONE: dict[str, ModelProto] = {
    "another order": model("a = Transpose<perm = [1, 2, 0]>(x) y = Transpose<perm = [1, 2, 0]>(a)", y="4, 2, 3"),
    "another shape": model("f = Reshape(x, n) y = Reshape(f, s)", y="2, 12", n=[-1], s=[2, 12]),
    "other data between": model("a = Transpose(x) b = Neg(a) y = Transpose(b)"),
    "Reshape of a Transpose": model("a = Transpose(x) y = Reshape(a, s)", s=[2, 3, 4]),
    "from input to output": model("a = Transpose(x) y = Transpose(a)"),
    "a dimension that is unknown": graph(
        "t (float[B, 3] x, int64[2] s) => (float[M, N] y) { r = Reshape(x, s) y = Neg(r) }"
    ),
}


@pytest.mark.parametrize("case", REMOVED)
def test_removes(case: str) -> None:
    source, expected = REMOVED[case]
    assert sorted(op_types(check_transform(remove_moves, source))) == sorted(expected)


@pytest.mark.parametrize("case", LEFT_ALONE)
def test_leaves_alone(case: str) -> None:
    edited = Graph(LEFT_ALONE[case])
    assert remove_moves(edited, plain_context()) == 0
    assert op_types(edited.to_model()) == op_types(LEFT_ALONE[case])


def test_a_tensor_between_that_the_request_names_stays() -> None:
    edited = Graph(REMOVED["Unsqueeze and Squeeze"][0])
    edited.kept = {"u"}
    assert remove_moves(edited, plain_context()) == 0


def test_how_far_it_looks() -> None:
    turns = " ".join(f"t{n + 1} = Reshape(t{n}, s{n})" for n in range(4 * LONGEST))
    shapes = {f"s{n}": np.array([24] + [1] * n) for n in range(4 * LONGEST)}
    source = model(f"t0 = Relu(x) {turns} y = Reshape(t{4 * LONGEST}, s)", s=[2, 3, 4], **shapes)
    assert remove_moves(Graph(source), plain_context()) == 0
    assert remove_moves.stage is Stage.NORMALIZE
