"""What op_types_to_quantize lists is quantized, whatever onnxruntime's optimizer would make of it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest

from ort_vitis_plugin import PowerOfTwoMethod

from .checks import Arguments, assert_close, constants_of, model, nodes, quantized, weights

LINEAR = {"w": weights(1, 8, 8), "b": weights(2, 8)}
TEXTS = {
    "MatMul and Add": "t (float[2, 8] x) => (float[2, 8] y) { h = MatMul(x, w) y = Add(h, b) }",
    "MatMul, Add, Relu": "t (float[2, 8] x) => (float[2, 8] y) { h = MatMul(x, w) a = Add(b, h) y = Relu(a) }",
    "MatMul of rank 3 and Add": "t (float[1, 2, 8] x) => (float[1, 2, 8] y) { h = MatMul(x, w) y = Add(h, b) }",
}
FORMS: dict[str, Arguments] = {
    "onnxruntime": {},
    "npu": {"calibrate_method": PowerOfTwoMethod.MinMSE, "enable_dpu": True},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("listed", [["MatMul"], ["Add"], ["MatMul", "Add"], ["Conv", "MatMul"]])
@pytest.mark.parametrize("case", TEXTS)
def test_listed_types_are_quantized_and_no_others(case: str, listed: list[str], form: str) -> None:
    source = model(TEXTS[case], LINEAR)
    result = quantized(source, op_types_to_quantize=listed, **FORMS[form])
    assert set(result.report.quantized.values()) == {"MatMul", "Add", "Relu"} & set(listed)
    assert_close(source, result, 12.0)


def test_gemm_may_come_of_matmul_where_it_is_listed_too() -> None:
    source = model(TEXTS["MatMul and Add"], LINEAR)
    result = quantized(source, op_types_to_quantize=["MatMul", "Gemm"])
    assert [node.op_type for node in nodes(result, "Gemm", "MatMul")] == ["Gemm"]
    assert set(result.report.quantized.values()) == {"Gemm"}


def test_the_outputs_of_a_listed_type_may_stay_float() -> None:
    source = model(TEXTS["MatMul and Add"], LINEAR)
    options = {"OpTypesToExcludeOutputQuantization": ["MatMul"]}
    result = quantized(source, op_types_to_quantize=["MatMul"], extra_options=options)
    (matmul,), (add,) = nodes(result, "MatMul"), nodes(result, "Add")
    assert matmul.output[0] in add.input
    assert "w_quantized" in constants_of(result)


def test_optimization_goes_on_where_no_listed_type_is_lost() -> None:
    source = model(
        "t (float[1, 3, 6, 6] x) => (float[1, 4, 4, 4] y) { h = Conv(x, w) y = Add(h, b) }",
        {"w": weights(1, 4, 3, 3, 3), "b": weights(2, 1, 4, 1, 1)},
    )
    result = quantized(source, op_types_to_quantize=["Conv"])
    assert not nodes(result, "Add"), "the Add is the bias of the Conv"
