"""Decomposed instance normalizations are put together again, whoever exported them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto

from ort_vitis_ipu.prepare.fuse_instance_norm import fuse_instance_norm
from ort_vitis_plugin.api import attribute
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import check_transform, graph, op_types, opsets, plain_context

OPSETS = opsets()
HEAD = "u = GlobalAveragePool(x) d = Sub(x, u) q = Mul(d, d) v = GlobalAveragePool(q) w = Add(v, eps) r = Sqrt(w) "


def norm(body: str, opset: int = 17, outputs: str = "float[] y", shape: tuple[int, ...] = (1, 3, 1, 1)) -> ModelProto:
    generator = np.random.default_rng(3)
    for name in ("x", "d", "q", "p"):
        spelled = f"ReduceMean({name}, axes)" if opset >= 18 else f"ReduceMean<axes = [2, 3]>({name})"
        body = body.replace(f"MEAN({name})", spelled)
    constants = {
        "eps": np.array(0.01, np.float32),
        "axes": np.array([-1, -2]),
        "two": np.array([2], np.float32),
        "one": np.array(1, np.float32),
        "gamma": generator.standard_normal(shape).astype(np.float32),
        "beta": generator.standard_normal(shape).astype(np.float32),
    }
    return graph(f"t (float[2, 3, 5, 4] x) => ({outputs}) {{ {body} }}", opset, constants)


FORMS = {
    "TensorFlow": HEAD
    + "i = Reciprocal(r) m = Mul(i, gamma) a = Mul(x, m) c = Mul(u, m) e = Sub(beta, c) y = Add(a, e)",
    "TensorFlow without gamma": HEAD + "i = Reciprocal(r) a = Mul(x, i) c = Mul(u, i) e = Sub(beta, c) y = Add(a, e)",
    "other orders": HEAD.replace("Add(v, eps)", "Add(eps, v)")
    + "i = Div(one, r) m = Mul(gamma, i) a = Mul(m, x) c = Mul(m, u) e = Sub(beta, c) y = Add(e, a)",
    "ReduceMean": HEAD.replace("GlobalAveragePool", "MEAN") + "n = Div(d, r) z = Mul(n, gamma) y = Add(z, beta)",
    "PyTorch": "u = MEAN(x) d = Sub(x, u) p = Pow(d, two) v = MEAN(p) w = Add(v, eps) r = Sqrt(w) n = Div(d, r) "
    "z = Mul(n, gamma) y = Add(z, beta)",
    "gamma only": HEAD + "n = Div(d, r) y = Mul(gamma, n)",
    "beta only": HEAD + "n = Div(d, r) y = Add(n, beta)",
    "neither": HEAD + "y = Div(d, r)",
    "Reciprocal of the deviation": HEAD + "i = Reciprocal(r) n = Mul(d, i) z = Mul(n, gamma) y = Add(z, beta)",
    "gamma in the reciprocal": HEAD + "i = Reciprocal(r) m = Mul(i, gamma) n = Mul(d, m) y = Add(n, beta)",
}


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("case", FORMS)
def test_fuses(case: str, opset: int) -> None:
    result = check_transform(fuse_instance_norm, norm(FORMS[case], opset), tolerance=1e-5)
    assert op_types(result) == ["InstanceNormalization"]
    assert attribute(result.graph.node[0], "epsilon") == pytest.approx(0.01)


@pytest.mark.parametrize("shape", [(3, 1, 1), (1, 1, 1, 1), (1,), ()], ids=str)
def test_shapes_of_gamma_and_beta(shape: tuple[int, ...]) -> None:
    model = norm(FORMS["PyTorch"], shape=shape)
    assert op_types(check_transform(fuse_instance_norm, model, tolerance=1e-5)) == ["InstanceNormalization"]


KEPT = {
    "the deviation is a graph output": norm(FORMS["PyTorch"], outputs="float[] y, float[] r"),
    "the mean is read elsewhere": norm(FORMS["PyTorch"].replace("y = ", "k = ") + " y = Add(k, u)"),
    "the mean is of another tensor": norm(
        FORMS["PyTorch"].replace("u = MEAN(x)", "k = Relu(x) u = GlobalAveragePool(k)")
    ),
    "the square is of another tensor": norm(FORMS["neither"].replace("Mul(d, d)", "Mul(x, x)")),
    "one axis": norm(FORMS["PyTorch"].replace("MEAN(p)", "ReduceMean<axes = [2]>(p)")),
    "a layer normalization": norm(FORMS["PyTorch"].replace("MEAN(", "ReduceMean<axes = [-1]>(")),
    "the deviation is divided": norm(FORMS["neither"].replace("Div(d, r)", "Div(r, d)")),
}


@pytest.mark.parametrize("case", KEPT)
def test_left_alone(case: str) -> None:
    assert op_types(check_transform(fuse_instance_norm, KEPT[case])) == op_types(KEPT[case])


def test_gamma_along_another_axis_stays_outside() -> None:
    result = check_transform(fuse_instance_norm, norm(FORMS["PyTorch"], shape=(1, 1, 5, 1)), tolerance=1e-5)
    assert op_types(result) == ["InstanceNormalization", "Mul", "Add"]


def test_the_reason_is_reported() -> None:
    edited = Graph(KEPT["the mean is read elsewhere"])
    fuse_instance_norm(edited, plain_context())
    assert "other readers" in edited.skips[0].reason
