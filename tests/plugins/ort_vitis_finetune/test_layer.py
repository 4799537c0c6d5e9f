"""The product of matrices that a layer is stands for gives what onnxruntime computes."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import NodeProto, TensorProto, helper, numpy_helper

from ort_vitis_finetune.layer import Layer, layer_of, with_added_bias
from ort_vitis_plugin.testing import run_model

Array = np.ndarray[Any, Any]


def one_node(op_type: str, *, left: bool, **attributes: Any) -> NodeProto:
    return helper.make_node(op_type, ["w", "x"] if left else ["x", "w"], ["y"], "layer", **attributes)


def outputs(op_type: str, x: Array, w: Array, *, left: bool = False, **attributes: Any) -> Array:
    """What onnxruntime computes; with ``left`` the constant is the first input."""
    graph = helper.make_graph(
        [one_node(op_type, left=left, **attributes)],
        "one",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(w, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return run_model(model, {"x": x})["y"]


def as_layer(op_type: str, w: Array, *, left: bool = False, **attributes: Any) -> Layer:
    found = layer_of(one_node(op_type, left=left, **attributes), {"w": w.shape})
    assert isinstance(found, Layer), found
    return found


def products(layer: Layer, x: Array, w: Array) -> Array:
    """W x [group, output, column] of all columns."""
    columns = layer.columns(x)
    return layer.rows(w) @ columns.take(np.arange(len(columns)))


def of_channels(y: Array, groups: int) -> Array:
    """[N, channels, *spatial] as [group, output, column]."""
    flat = np.moveaxis(y, 1, 0).reshape(y.shape[1], -1)
    return flat.reshape(groups, -1, flat.shape[1])


@st.composite
def convolutions(draw: Any) -> tuple[Array, Array, dict[str, Any]]:
    rank = draw(st.integers(1, 3))
    several = st.lists(st.integers(1, 3), min_size=rank, max_size=rank)
    kernel, strides, dilations = draw(several), draw(several), draw(several)
    pads = draw(st.lists(st.integers(0, 2), min_size=2 * rank, max_size=2 * rank))
    group, inputs, outs = draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.integers(1, 2))
    size = [(k - 1) * d + 1 + draw(st.integers(0, 4)) for k, d in zip(kernel, dilations, strict=True)]
    random = np.random.default_rng(draw(st.integers(0, 9)))
    x = random.normal(size=(draw(st.integers(1, 2)), group * inputs, *size)).astype(np.float32)
    w = random.normal(size=(group * outs, inputs, *kernel)).astype(np.float32)
    attributes: dict[str, Any] = {"strides": strides, "dilations": dilations, "group": group, "kernel_shape": kernel}
    auto = draw(st.sampled_from(["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"]))
    if auto.startswith("SAME"):
        attributes["dilations"] = [1] * rank  # onnxruntime takes no others
    return x, w, {**attributes, **({"pads": pads} if auto == "NOTSET" else {"auto_pad": auto})}


@given(convolutions())
@settings(max_examples=40, deadline=None)
def test_conv(case: tuple[Array, Array, dict[str, Any]]) -> None:
    x, w, attributes = case
    found = products(as_layer("Conv", w, **attributes), x, w)
    wanted = of_channels(outputs("Conv", x, w, **attributes), attributes["group"])
    np.testing.assert_allclose(found, wanted, atol=1e-4)


@st.composite
def transposed(draw: Any) -> tuple[Array, Array, dict[str, Any]]:
    rank = draw(st.integers(1, 2))
    several = st.lists(st.integers(1, 3), min_size=rank, max_size=rank)
    kernel, strides, dilations = draw(several), draw(several), draw(several)
    group, inputs, outs = draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.integers(1, 2))
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    pads = [draw(st.integers(0, (extent - 1) // 2)) for extent in extents * 2]
    extra = [draw(st.integers(0, max(min(s, d) - 1, 0))) for s, d in zip(strides, dilations, strict=True)]
    size = [draw(st.integers(2, 4)) for _ in kernel]
    random = np.random.default_rng(draw(st.integers(0, 9)))
    x = random.normal(size=(draw(st.integers(1, 2)), group * inputs, *size)).astype(np.float32)
    w = random.normal(size=(group * inputs, outs, *kernel)).astype(np.float32)
    attributes: dict[str, Any] = {"strides": strides, "dilations": dilations, "group": group, "output_padding": extra}
    mode = draw(st.sampled_from(["pads", "shape", "SAME_UPPER", "SAME_LOWER"]))
    full = [(n - 1) * s + e + o for n, s, e, o in zip(size, strides, extents, extra, strict=True)]
    if mode == "pads":
        attributes["pads"] = pads
    elif mode == "shape":
        attributes["output_shape"] = [max(f - draw(st.integers(0, 2)), 1) for f in full]
    elif all(n * s <= f for n, s, f in zip(size, strides, full, strict=True)):
        attributes["auto_pad"] = mode
    return x, w, attributes


@given(transposed())
@settings(max_examples=40, deadline=None)
def test_conv_transpose(case: tuple[Array, Array, dict[str, Any]]) -> None:
    x, w, attributes = case
    found = products(as_layer("ConvTranspose", w, **attributes), x, w)
    wanted = of_channels(outputs("ConvTranspose", x, w, **attributes), attributes["group"])
    np.testing.assert_allclose(found, wanted, atol=1e-4)


@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("trans_b", [0, 1])
def test_gemm(trans_a: int, trans_b: int) -> None:
    random = np.random.default_rng(0)
    x, w = random.normal(size=(4, 5)).astype(np.float32), random.normal(size=(5, 3)).astype(np.float32)
    x, w = (x.T.copy() if trans_a else x), (w.T.copy() if trans_b else w)
    found = products(as_layer("Gemm", w, transA=trans_a, transB=trans_b), x, w)
    np.testing.assert_allclose(found[0], outputs("Gemm", x, w, transA=trans_a, transB=trans_b).T, atol=1e-5)


@pytest.mark.parametrize(
    ("x", "w", "left"),
    [
        ((4, 5), (5, 3), False),
        ((2, 3, 4, 5), (5, 3), False),
        ((5,), (5, 3), False),
        ((2, 4, 5), (2, 5, 3), False),
        ((7, 2, 4, 5), (2, 5, 3), False),
        ((4, 5), (2, 5, 3), False),
        ((2, 3, 4, 5), (2, 1, 5, 3), False),
        ((2, 3, 4, 5), (1, 3, 5, 3), False),
        ((5, 4), (3, 5), True),
        ((2, 5, 4), (3, 5), True),
        ((5,), (3, 5), True),
    ],
    ids=str,
)
def test_matmul(x: tuple[int, ...], w: tuple[int, ...], left: bool) -> None:
    random = np.random.default_rng(0)
    data, constant = random.normal(size=x).astype(np.float32), random.normal(size=w).astype(np.float32)
    found = products(as_layer("MatMul", constant, left=left), data, constant)
    wanted = outputs("MatMul", data, constant, left=left)
    assert found.size == wanted.size
    np.testing.assert_allclose(np.sort(found.ravel()), np.sort(wanted.ravel()), atol=1e-4)


@pytest.mark.parametrize(
    ("op_type", "shape", "attributes"),
    [
        ("Conv", (6, 2, 3, 3), {"group": 3}),
        ("ConvTranspose", (6, 2, 3, 2), {"group": 3}),
        ("Gemm", (5, 3), {}),
        ("Gemm", (3, 5), {"transB": 1}),
        ("MatMul", (2, 5, 3), {}),
    ],
)
def test_rows_have_an_inverse(op_type: str, shape: tuple[int, ...], attributes: dict[str, Any]) -> None:
    w = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    layer = as_layer(op_type, w, **attributes)
    np.testing.assert_array_equal(layer.constant_of(layer.rows(w)), w)


def test_only_the_columns_asked_for_are_copied() -> None:
    """A picture of 512 x 512 with 64 channels has 600 MB of columns; ten of them are taken."""
    layer = as_layer("Conv", np.zeros((8, 64, 3, 3), np.float32), pads=[1, 1, 1, 1])
    columns = layer.columns(np.zeros((1, 64, 512, 512), np.float32))
    assert len(columns) == 512 * 512
    assert columns.take(np.arange(10)).shape == (1, 64 * 9, 10)


@pytest.mark.parametrize(
    ("node", "shapes", "reason"),
    [
        (helper.make_node("Relu", ["x"], ["y"]), {}, "no product"),
        (helper.make_node("Conv", ["x", "w"], ["y"]), {}, "not constant"),
        (helper.make_node("Conv", ["x", "w", "b"], ["y"]), {"w": (4, 3, 1, 1)}, "bias is not constant"),
        (helper.make_node("Conv", ["x", "w", "b"], ["y"]), {"w": (4, 3, 1, 1), "b": (1,)}, "bias of shape"),
        (helper.make_node("Gemm", ["x", "w"], ["y"], alpha=0.5), {"w": (4, 3)}, "alpha"),
        (helper.make_node("MatMul", ["x", "w"], ["y"]), {"w": (4,)}, "shape"),
        (helper.make_node("MatMul", ["w", "x"], ["y"]), {"w": (2, 4, 3)}, "left"),
        (helper.make_node("MatMul", ["v", "w"], ["y"]), {"v": (2, 4), "w": (4, 3)}, "input is constant"),
    ],
)
def test_what_is_no_layer_says_why(node: Any, shapes: dict[str, tuple[int, ...]], reason: str) -> None:
    found = layer_of(node, shapes)
    assert isinstance(found, str)
    assert reason in found


@pytest.mark.parametrize(
    ("w", "left", "bias", "is_bias"),
    [
        ((5, 3), False, (3,), True),
        ((5, 3), False, (1, 1, 3), True),
        ((5, 3), False, (3, 1), False),
        ((5, 3), False, (1,), False),
        ((2, 5, 3), False, (6,), False),
        ((3, 5), True, (3, 1), True),
        ((3, 5), True, (3,), False),
    ],
    ids=str,
)
def test_an_add_behind_a_matmul_is_its_bias_where_it_adds_one_number_per_output(
    w: tuple[int, ...], left: bool, bias: tuple[int, ...], is_bias: bool
) -> None:
    layer = as_layer("MatMul", np.zeros(w, np.float32), left=left)
    add = helper.make_node("Add", ["b", "y"], ["z"])
    found = with_added_bias(layer, add, {"b": bias})
    assert (found.bias_node is add) == is_bias
    assert found.bias_at == (0 if is_bias else 2)
