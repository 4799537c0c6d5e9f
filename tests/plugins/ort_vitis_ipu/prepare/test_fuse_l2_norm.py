"""x / |x| along one axis is LpNormalization, whoever exported it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto

from ort_vitis_ipu.prepare.fuse_l2_norm import fuse_l2_norm
from ort_vitis_plugin.api import attribute
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import check_transform, graph, op_types, opsets, plain_context

OPSETS = opsets("t (float[2] x) => (float[2] y) { y = LpNormalization<axis = 0>(x) }")


def norm(body: str, opset: int = 17, axis: int = 1, epsilon: float = 1e-12, outputs: str = "float[] y") -> ModelProto:
    """SUM, SQUARES and L2 stand for the reductions in the opset's spelling."""
    spelled = {
        "SUM": ("ReduceSum", 13),
        "SQUARES": ("ReduceSumSquare", 18),
        "L2": ("ReduceL2", 18),
    }
    for word, (op_type, since) in spelled.items():
        head, _, tail = body.partition(f"{word}(")
        if tail:
            argument, _, rest = tail.partition(")")
            call = f"{op_type}(" + argument + ", axes)" if opset >= since else f"{op_type}<axes = [{axis}]>({argument})"
            body = head + call + rest
    constants = {
        "axes": np.array([axis]),
        "eps": np.array(epsilon, np.float32),
        "two": np.array(2, np.float32),
        "one": np.array([1], np.float32),
    }
    return graph(f"t (float[2, 5, 3] x) => ({outputs}) {{ {body} }}", opset, constants)


TENSORFLOW = "s = Mul(x, x) n = SUM(s) m = Max(n, eps) r = Sqrt(m) i = Reciprocal(r) y = Mul(x, i)"
FORMS = {
    "TensorFlow": TENSORFLOW,
    "Max, constant first": TENSORFLOW.replace("Max(n, eps)", "Max(eps, n)").replace("Mul(x, i)", "Mul(i, x)"),
    "eps is added": "s = Pow(x, two) n = SUM(s) m = Add(n, eps) r = Sqrt(m) y = Div(x, r)",
    "one over": "s = Mul(x, x) n = SUM(s) r = Sqrt(n) i = Div(one, r) y = Mul(x, i)",
    "ReduceSumSquare": "n = SQUARES(x) r = Sqrt(n) m = Max(r, eps) y = Div(x, m)",
    "PyTorch normalize": "n = L2(x) m = Clip(n, eps) h = Shape(x) e = Expand(m, h) y = Div(x, e)",
    "no floor": "n = L2(x) y = Div(x, n)",
}


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("case", FORMS)
def test_fuses(case: str, opset: int) -> None:
    body = FORMS[case].replace("Clip(n, eps)", "Clip<min = 0.000001>(n)") if opset < 11 else FORMS[case]
    result = check_transform(fuse_l2_norm, norm(body, opset), tolerance=1e-5)
    assert op_types(result) == ["LpNormalization"]


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
def test_axis(axis: int) -> None:
    result = check_transform(fuse_l2_norm, norm(TENSORFLOW, axis=axis), tolerance=1e-5)
    assert attribute(result.graph.node[0], "axis") == axis


def test_a_type_that_nobody_states_is_no_obstacle() -> None:
    source = norm("q = Relu(x) " + TENSORFLOW.replace("(x", "(q").replace("q, x)", "q, q)"))
    del source.graph.value_info[:]
    assert fuse_l2_norm(Graph(source), plain_context()) == 1


KEPT = {
    "eps is felt": norm(TENSORFLOW, epsilon=0.1),
    "eps added to |x| is felt": norm("n = L2(x) m = Add(n, eps) y = Div(x, m)", epsilon=1e-4),
    "another tensor is divided": norm(TENSORFLOW.replace("y = Mul(x, i)", "z = Relu(x) y = Mul(z, i)")),
    "a cube": norm(TENSORFLOW.replace("s = Mul(x, x)", "q = Mul(x, x) s = Mul(q, x)")),
    "the length is a graph output": norm(TENSORFLOW, outputs="float[] y, float[] r"),
    "the length is read elsewhere": norm(TENSORFLOW.replace("y = ", "z = ") + " y = Add(z, r)"),
    "dimensions are dropped": norm("n = ReduceSumSquare<axes = [0], keepdims = 0>(x) r = Sqrt(n) y = Div(x, r)"),
    "all axes": norm("n = ReduceSumSquare(x) r = Sqrt(n) y = Div(x, r)"),
    "two axes": norm("n = ReduceSumSquare<axes = [0, 1]>(x) r = Sqrt(n) y = Div(x, r)"),
    "upside down": norm("n = SQUARES(x) r = Sqrt(n) y = Div(r, x)"),
}


@pytest.mark.parametrize("case", KEPT)
def test_left_alone(case: str) -> None:
    assert op_types(check_transform(fuse_l2_norm, KEPT[case])) == op_types(KEPT[case])


def test_the_reason_names_epsilon() -> None:
    edited = Graph(KEPT["eps is felt"])
    fuse_l2_norm(edited, plain_context())
    assert "0.1 is too large" in edited.skips[0].reason
