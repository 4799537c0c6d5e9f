"""Operators on codes that compute give the numbers of the pairs that they replace, up to one code of rounding."""

# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from ort_vitis_plugin.testing import LEVELS, random_feeds, run_model
from tests.ort_vitis_plugin.convert.code_pairs import (
    I8,
    SOFTMAX_EXACT,
    STEP,
    U8,
    Pairs,
    check_codes,
    codes,
    converted,
    finish,
    types,
)

UNARY = [
    ("Sigmoid", [1, 4, 5], {}, (0, 1), "QLinearSigmoid"),
    ("LeakyRelu", [1, 4, 5], {"alpha": 0.1}, (-1, 3), "QLinearLeakyRelu"),
    ("Softmax", [2, 7, 5], {"axis": -1}, (0, 1), "QLinearSoftmax"),
    ("Softmax", [2, 7, 5], {"axis": 1}, (0, 1), "QLinearSoftmax"),
    ("GlobalAveragePool", [2, 40, 3, 3], {}, (-1, 1), "QLinearGlobalAveragePool"),
    ("AveragePool", [1, 3, 8, 8], {"kernel_shape": [3, 3]}, (-1, 1), "QLinearAveragePool"),
    (
        "AveragePool",
        [1, 3, 8, 8],
        {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 0, 0], "ceil_mode": 1, "count_include_pad": 1},
        (-1, 1),
        "QLinearAveragePool",
    ),
    ("AveragePool", [1, 3, 9], {"kernel_shape": [2], "auto_pad": "SAME_UPPER"}, (-1, 1), "QLinearAveragePool"),
]


@pytest.mark.parametrize("kind", [U8, I8], ids=str)
@pytest.mark.parametrize(("op_type", "shape", "attributes", "limits", "written"), UNARY)
def test_one_operand(
    op_type: str, shape: list[int], attributes: dict[str, Any], limits: tuple[float, float], written: str, kind: Any
) -> None:
    pairs = Pairs(kind)
    pairs.op(op_type, [pairs.activation("x", shape)], **attributes)
    model, step = finish(pairs, *limits)
    result = converted(model)
    assert types(result) == ["QuantizeLinear", written, "DequantizeLinear"]
    check_codes(model, result, step, exact=SOFTMAX_EXACT if op_type == "Softmax" else 0.9)


@pytest.mark.parametrize(("opset", "axis"), [(11, None), (12, 1), (13, None), (21, -1)])
def test_softmax_means_what_its_opset_says(opset: int, axis: int | None) -> None:
    pairs = Pairs(U8, opset)
    pairs.op("Softmax", [pairs.activation("x", [2, 3, 4])], **({} if axis is None else {"axis": axis}))
    model, step = finish(pairs, 0, 1)
    result = converted(model)
    assert "QLinearSoftmax" in types(result)
    check_codes(model, result, step, exact=SOFTMAX_EXACT)


@pytest.mark.parametrize("kind", [U8, I8], ids=str)
@pytest.mark.parametrize("op_type", ["Add", "Mul"])
@pytest.mark.parametrize("other", [[1, 4, 5], [4, 1], [5]], ids=str)
def test_two_operands(op_type: str, other: list[int], kind: Any) -> None:
    pairs = Pairs(kind)
    pairs.op(op_type, [pairs.activation("a", [1, 4, 5]), pairs.activation("b", other, 0.03)])
    model, step = finish(pairs, -4, 4)
    result = converted(model)
    assert types(result).count(f"QLinear{op_type}") == 1
    assert "DequantizeLinear" not in types(result)[:-1]
    check_codes(model, result, step)


@pytest.mark.parametrize("kind", [U8, I8], ids=str)
def test_concat_and_where_take_codes_of_several_scales(kind: Any) -> None:
    pairs = Pairs(kind)
    a, b = pairs.activation("a", [2, 3]), pairs.activation("b", [2, 3], 0.03)
    pairs.op("Concat", [a, b], ["c"], axis=1)
    pairs.output("c", "y", STEP, pairs.zero)
    pairs.inputs.append(helper.make_tensor_value_info("which", TensorProto.BOOL, [2, 3]))
    pairs.op("Where", ["which", a, b], ["w"])
    pairs.output("w", "z", STEP, pairs.zero)
    model = pairs.model("y", "z")
    result = converted(model)
    assert {"QLinearConcat", "QLinearWhere"} <= set(types(result))
    assert not {"Concat", "Where"} & set(types(result))
    feeds = random_feeds(model) | {"which": np.array([[True, False, True], [False, True, False]])}
    wanted = run_model(model, feeds, LEVELS[0])
    for level in LEVELS:
        for name, values in run_model(result, feeds, level).items():
            np.testing.assert_allclose(values, wanted[name], rtol=0, atol=STEP * 1.001)


def test_a_concat_of_one_tensor_passes_its_codes() -> None:
    pairs = Pairs(U8)
    pairs.op("Concat", [pairs.activation("a", [2, 3])], axis=1)
    pairs.output("t", "y", STEP, pairs.zero)
    result = converted(pairs.model())
    assert types(result) == ["QuantizeLinear", "Concat", "DequantizeLinear"]
    check_codes(pairs.model(), result, STEP, 0)


@pytest.mark.parametrize("has_bias", [False, True], ids=["", "bias"])
@pytest.mark.parametrize("per_channel", [False, True], ids=["tensor", "channel"])
@pytest.mark.parametrize(("kind", "weight"), [(U8, U8), (U8, I8), (I8, I8)], ids=str)
def test_conv(kind: Any, weight: Any, per_channel: bool, has_bias: bool) -> None:
    pairs = Pairs(kind)
    x = pairs.activation("x", [1, 4, 7, 7])
    scale: Any = np.linspace(0.004, 0.02, 6) if per_channel else np.float32(0.01)
    zero: Any = np.full(np.shape(scale), 64 if weight == U8 else 0)
    operands = [x, pairs.weight("w", codes((6, 2, 3, 3), weight), scale, zero, 0 if per_channel else None)]
    if has_bias:
        bias = np.array([9000, -9000, 300, 0, -20000, 20000], np.int32)
        product = np.float32(STEP) * np.asarray(scale, np.float32)
        operands.append(
            pairs.weight("b", bias, product, np.zeros(np.shape(scale), int), 0 if per_channel else None, 32)
        )
    pairs.op("Conv", operands, group=2, strides=[2, 2], pads=[1, 1, 1, 1])
    model, step = finish(pairs, -6, 6)
    result = converted(model)
    assert types(result) == ["QuantizeLinear", "QLinearConv", "DequantizeLinear"]
    check_codes(model, result, step)


@pytest.mark.parametrize("per_channel", [False, True], ids=["tensor", "channel"])
@pytest.mark.parametrize(("kind", "weight"), [(U8, U8), (U8, I8), (I8, I8)], ids=str)
def test_matmul(kind: Any, weight: Any, per_channel: bool) -> None:
    pairs = Pairs(kind)
    scale: Any = np.linspace(0.004, 0.02, 6) if per_channel else np.float32(0.01)
    zero: Any = np.full(np.shape(scale), 64 if weight == U8 else 0)
    operand = pairs.weight("w", codes((5, 6), weight), scale, zero, 1 if per_channel else None)
    pairs.op("MatMul", [pairs.activation("x", [2, 4, 5]), operand])
    model, step = finish(pairs, -4, 4)
    result = converted(model)
    assert types(result) == ["QuantizeLinear", "QLinearMatMul", "DequantizeLinear"]
    check_codes(model, result, step)


def test_matmul_of_two_activations() -> None:
    pairs = Pairs(I8)
    pairs.op("MatMul", [pairs.activation("a", [2, 3, 5]), pairs.activation("b", [2, 5, 4], 0.03)])
    model, step = finish(pairs, -6, 6)
    result = converted(model)
    assert "QLinearMatMul" in types(result)
    check_codes(model, result, step)


@pytest.mark.parametrize("attributes", [{}, {"transB": 1}, {"transA": 1}, {"alpha": 0.5, "beta": 2.0}], ids=str)
@pytest.mark.parametrize("per_channel", [False, True], ids=["tensor", "channel"])
@pytest.mark.parametrize(("kind", "weight"), [(U8, U8), (U8, I8), (I8, I8)], ids=str)
def test_gemm(kind: Any, weight: Any, per_channel: bool, attributes: dict[str, Any]) -> None:
    pairs = Pairs(kind)
    scale: Any = np.linspace(0.004, 0.02, 6) if per_channel else np.float32(0.01)
    zero: Any = np.full(np.shape(scale), 64 if weight == U8 else 0)
    is_transposed = attributes.get("transB", 0)
    axis = (0 if is_transposed else 1) if per_channel else None
    w = pairs.weight("w", codes((6, 5) if is_transposed else (5, 6), weight), scale, zero, axis)
    product = STEP * np.asarray(scale) * attributes.get("alpha", 1.0) / attributes.get("beta", 1.0)
    bias = np.array([900, -900, 300, 0, -2000, 2000], np.int32)
    b = pairs.weight("b", bias, product, np.zeros(np.shape(scale), int), 0 if per_channel else None, 32)
    x = pairs.activation("x", [5, 3] if attributes.get("transA") else [3, 5])
    pairs.op("Gemm", [x, w, b], **attributes)
    model, step = finish(pairs, -4, 4)
    result = converted(model)
    assert types(result) == ["QuantizeLinear", "QGemm", "DequantizeLinear"]
    check_codes(model, result, step)
