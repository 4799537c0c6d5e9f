"""BatchNormalization folds into the product in front of it, and nowhere else."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, numpy_helper

from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import check_transform, graph, op_types, opsets, plain_context
from ort_vitis_prepare.fold.fold_batch_norm import fold_batch_norm

OPSETS = opsets()


def network(body: str, opset: int = 17, shape: str = "1, 4, 6, 6", **shapes: tuple[int, ...]) -> ModelProto:
    """Normalization parameters g, o, m, v of four channels, and random constants of the given shapes."""
    generator = np.random.default_rng(1)
    constants = {name: generator.standard_normal(size).astype(np.float32) for name, size in shapes.items()}
    constants |= {name: generator.standard_normal(4).astype(np.float32) for name in ("g", "o", "m")}
    constants["v"] = generator.uniform(0.1, 2.0, 4).astype(np.float32)
    return graph(f"t (float[{shape}] x) => (float[] y) {{ {body} }}", opset, constants)


KEPT = {
    "the tensor is a graph output": (
        "h = Conv(x, w) y = BatchNormalization(h, g, o, m, v)",
        {"w": (4, 4, 3, 3)},
        "h",
    ),
    "the tensor has a second reader": (
        "h = Conv(x, w) n = BatchNormalization(h, g, o, m, v) y = Add(n, h)",
        {"w": (4, 4, 3, 3)},
        None,
    ),
    "an activation in between": (
        "h = Conv(x, w) r = Relu(h) y = BatchNormalization(r, g, o, m, v)",
        {"w": (4, 4, 3, 3)},
        None,
    ),
    "weights are computed": (
        "w = Relu(w0) h = Conv(x, w) y = BatchNormalization(h, g, o, m, v)",
        {"w0": (4, 4, 3, 3)},
        None,
    ),
    "statistics are computed": (
        "s = Abs(v0) h = Conv(x, w) y = BatchNormalization(h, g, o, m, s)",
        {"w": (4, 4, 3, 3), "v0": (4,)},
        None,
    ),
    "nothing in front": ("y = BatchNormalization(x, g, o, m, v)", {}, None),
}


@pytest.mark.parametrize("case", KEPT)
def test_left_alone(case: str) -> None:
    body, shapes, extra = KEPT[case]
    model = network(body, **shapes)
    if extra:
        model.graph.output.append(next(v for v in model.graph.value_info if v.name == extra))
    result = check_transform(fold_batch_norm, model)
    assert op_types(result) == op_types(model)


def test_weights_that_a_caller_may_replace_stay() -> None:
    model = network("h = Conv(x, w) y = BatchNormalization(h, g, o, m, v)", w=(4, 4, 3, 3))
    text = graph("t (float[1,4,6,6] x, float[4,4,3,3] w) => (float[1,4,4,4] y) { y = Conv(x, w) }")
    model.graph.input.append(text.graph.input[1])
    edited = Graph(model)
    assert fold_batch_norm(edited, plain_context()) == 0
    assert "not constant" in edited.skips[0].reason


FOLDED = {
    "Conv": ("h = Conv(x, w)", {"w": (4, 4, 3, 3)}, ["Conv"]),
    "Conv with bias": ("h = Conv(x, w, b)", {"w": (4, 4, 3, 3), "b": (4,)}, ["Conv"]),
    "depthwise Conv": ("h = Conv<group = 4>(x, w, b)", {"w": (4, 1, 3, 3), "b": (4,)}, ["Conv"]),
    "grouped Conv": ("h = Conv<group = 2>(x, w, b)", {"w": (4, 2, 3, 3), "b": (4,)}, ["Conv"]),
    "ConvTranspose": ("h = ConvTranspose(x, w, b)", {"w": (4, 4, 3, 3), "b": (4,)}, ["ConvTranspose"]),
    "grouped ConvTranspose": ("h = ConvTranspose<group = 2>(x, w)", {"w": (4, 2, 3, 3)}, ["ConvTranspose"]),
    "weights in a Constant behind Identity": (
        "w = Identity(w0) h = Conv(x, w)",
        {"w0": (4, 4, 3, 3)},
        ["Conv"],
    ),
}


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("case", FOLDED)
def test_folds(case: str, opset: int) -> None:
    body, shapes, expected = FOLDED[case]
    model = network(f"{body} y = BatchNormalization<epsilon = 0.01>(h, g, o, m, v)", opset, **shapes)
    assert op_types(check_transform(fold_batch_norm, model, tolerance=1e-5)) == expected


ROWS = {
    "Gemm": ("h = Gemm(x, w, b)", {"w": (6, 4), "b": (4,)}, ["Gemm"]),
    "Gemm transB, alpha, beta": (
        "h = Gemm<transB = 1, alpha = 0.5, beta = 2.0>(x, w, b)",
        {"w": (4, 6), "b": (1, 4)},
        ["Gemm"],
    ),
    "Gemm with beta 0": ("h = Gemm<beta = 0.0>(x, w, b)", {"w": (6, 4), "b": (4,)}, ["Gemm"]),
    "Gemm with a bias of one number": ("h = Gemm(x, w, b)", {"w": (6, 4), "b": (1,)}, ["Gemm"]),
    "Gemm with a bias per row": ("h = Gemm(x, w, b)", {"w": (6, 4), "b": (2, 1)}, ["Gemm"]),
    "MatMul": ("h = MatMul(x, w)", {"w": (6, 4)}, ["MatMul", "Add"]),
    "MatMul and bias": ("p = MatMul(x, w) h = Add(p, b)", {"w": (6, 4), "b": (4,)}, ["MatMul", "Add"]),
    "bias and MatMul": ("p = MatMul(x, w) h = Add(b, p)", {"w": (6, 4), "b": (1,)}, ["MatMul", "Add"]),
    "two in a row": ("i = Gemm(x, w, b) h = BatchNormalization(i, g, o, m, v)", {"w": (6, 4), "b": (4,)}, ["Gemm"]),
}


@pytest.mark.parametrize("opset", [11, 15, 21])
@pytest.mark.parametrize("case", ROWS)
def test_folds_into_products_of_matrices(case: str, opset: int) -> None:
    body, shapes, expected = ROWS[case]
    model = network(f"{body} y = BatchNormalization(h, g, o, m, v)", opset, shape="2, 6", **shapes)
    assert op_types(check_transform(fold_batch_norm, model, tolerance=1e-5)) == expected


def test_channel_of_a_rank_3_product_is_not_its_last_axis() -> None:
    model = network("h = MatMul(x, w) y = BatchNormalization(h, g, o, m, v)", shape="1, 4, 6", w=(6, 4))
    assert (
        fold_batch_norm(Graph(model), plain_context()) == 0
    )  # onnxruntime 1.20 fuses it wrongly, so the model cannot be run


def test_missing_epsilon_is_1e_5() -> None:
    model = network("h = Conv(x, w) y = BatchNormalization(h, g, o, m, v)", w=(4, 4, 1, 1))
    for tensor in model.graph.initializer:
        if tensor.name == "v":
            tensor.CopyFrom(numpy_helper.from_array(np.full(4, 1e-6, np.float32), "v"))
    check_transform(fold_batch_norm, model, tolerance=1e-5)


def test_weights_of_two_convolutions_are_not_scaled_for_both() -> None:
    model = network("h = Conv(x, w) n = BatchNormalization(h, g, o, m, v) i = Conv(x, w) y = Add(n, i)", w=(4, 4, 3, 3))
    assert op_types(check_transform(fold_batch_norm, model, tolerance=1e-5)) == ["Conv", "Conv", "Add"]


def test_negative_variance_is_declined_by_name() -> None:
    model = network("h = Conv(x, w) y = BatchNormalization(h, g, o, m, v)", w=(4, 4, 1, 1))
    for tensor in model.graph.initializer:
        if tensor.name == "v":
            tensor.CopyFrom(numpy_helper.from_array(np.full(4, -1.0, np.float32), "v"))
    edited = Graph(model)
    assert fold_batch_norm(edited, plain_context()) == 0
    assert "not positive" in edited.skips[0].reason
