"""Everything that says float16 says float32, wherever it hides; the function stays."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

from ort_vitis_plugin.api import Report
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import graph, op_types, opsets, plain_context, run_model
from ort_vitis_prepare.convert.fp16_to_fp32 import _type, convert_fp16_to_fp32, fp16_to_fp32

OPSETS = opsets()
HALF = str(TensorProto.FLOAT16)


def half(body: str, opset: int = 17, result: str = "float16[]", **constants: Any) -> ModelProto:
    arrays = {name: np.asarray(value, np.float16) for name, value in constants.items()}
    return graph(f"t (float16[2, 3] x) => ({result} y) {{ {body} }}", opset, arrays)


def check(model: ModelProto, tolerance: float = 2e-3) -> ModelProto:
    """No float16 is left, the checker accepts the result, and it computes what the float16 model does."""
    before = model.SerializeToString(deterministic=True)
    converted = convert_fp16_to_fp32(model)
    assert model.SerializeToString(deterministic=True) == before
    onnx.checker.check_model(converted, full_check=True)
    text = str(converted)
    assert f"elem_type: {HALF}\n" not in text
    assert f"data_type: {HALF}\n" not in text
    assert [value.name for value in converted.graph.output] == [value.name for value in model.graph.output]
    x = np.random.default_rng(0).standard_normal((2, 3)).astype(np.float16)
    expected = run_model(model, {"x": x})
    found = run_model(converted, {"x": x.astype(np.float32)})
    for name, value in expected.items():
        assert found[name].dtype == (np.float32 if value.dtype == np.float16 else value.dtype)
        np.testing.assert_allclose(found[name], value.astype(found[name].dtype), rtol=0, atol=tolerance * 4)
    assert convert_fp16_to_fp32(converted) == converted
    return converted


def test_float32_is_left_alone() -> None:
    model = graph("t (float[2, 3] x) => (float[2, 3] y) { y = Relu(x) }")
    report = Report()
    assert convert_fp16_to_fp32(model, report) == model
    assert "nothing to convert" in report.notes[0]


def test_only_when_asked_for() -> None:
    assert fp16_to_fp32(Graph(half("y = Relu(x)")), plain_context()) == 0
    asked = plain_context(ConvertFP16ToFP32=True)
    edited = Graph(half("y = Relu(x)"))
    assert fp16_to_fp32(edited, asked) == 2
    assert edited.element_type("x") == TensorProto.FLOAT
    assert "float32" in asked.report.notes[0]
    assert fp16_to_fp32(edited, asked) == 0


W = np.arange(6).reshape(3, 2) / 7


@pytest.mark.parametrize("opset", OPSETS)
def test_initializers_inputs_and_outputs(opset: int) -> None:
    result = check(half("h = MatMul(x, w) y = Add(h, b)", opset, w=W, b=[0.5, -1]))
    assert op_types(result) == ["MatMul", "Add"]


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("c = Constant<value = float16[1] {15360}>() y = Add(x, c)", ["Constant", "Add"]),
        (f"f = Cast<to = 1>(x) r = Relu(f) y = Cast<to = {HALF}>(r)", ["Relu"]),
        (
            "s = Shape(x) c = ConstantOfShape<value = float16[1] {15360}>(s) y = Add(x, c)",
            ["Shape", "ConstantOfShape", "Add"],
        ),
        (f"e = EyeLike<dtype = {HALF}>(x) y = Add(x, e)", ["EyeLike", "Add"]),
        ("e = EyeLike(x) y = Add(x, e)", ["EyeLike", "Add"]),
        (f"i = Cast<to = 7>(x) y = Cast<to = {HALF}>(i)", ["Cast", "Cast"]),
    ],
    ids=["Constant", "Cast", "ConstantOfShape", "EyeLike", "EyeLike without type", "Cast of integers"],
)
def test_attributes(body: str, expected: list[str], opset: int) -> None:
    assert op_types(check(half(body, opset))) == expected


@pytest.mark.parametrize("opset", opsets("t (float[2] x) => (float[2] y) { y = RandomNormalLike(x) }"))
@pytest.mark.parametrize(
    "noise",
    [
        f"RandomNormalLike<dtype = {HALF}, mean = 2.0, scale = 0.000001>(x)",
        "RandomNormalLike<mean = 2.0, scale = 0.000001>(x)",
        f"RandomNormal<dtype = {HALF}, shape = [3], mean = 2.0, scale = 0.000001>()",
        f"RandomUniform<dtype = {HALF}, shape = [3], low = 2.0, high = 2.000001>()",
    ],
)
def test_random_tensors(noise: str, opset: int) -> None:
    """onnxruntime has no float16 noise, so the result is compared with what noise of hardly any spread adds."""
    converted = convert_fp16_to_fp32(half(f"n = {noise} y = Add(x, n)", opset))
    onnx.checker.check_model(converted, full_check=True)
    x = np.ones((2, 3), np.float32)
    np.testing.assert_allclose(run_model(converted, {"x": x})["y"], x + 2, rtol=0, atol=1e-4)


def test_sub_graphs() -> None:
    text = """t (float16[2, 3] x) => (float16[2, 3] y) <bool c = {1}, float16[1] k = {15360}> {
        y = If (c) <
            then_branch = a () => (float16[2, 3] p) <float16[1] two = {16384}> { p = Mul(x, two) },
            else_branch = b () => (float16[2, 3] q) { q = Add(x, k) }
        >
    }"""
    check(graph(text, 17))


def test_functions() -> None:
    model = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 17, "own": 1]>
        t (float16[2, 3] x) => (float16[2, 3] y) {{ y = own.shift(x) }}
        <domain: "own", opset_import: ["": 17]>
        shift (a) => (b) {{ c = Constant<value = float16[1] {{15360}}>() d = Add(a, c) b = Cast<to = {HALF}>(d) }}"""
    )
    result = check(model)
    assert [entry.i for entry in result.functions[0].node[2].attribute] == [TensorProto.FLOAT]


def test_sequences_and_values() -> None:
    model = half("s = SequenceConstruct(x, x) y = ConcatFromSequence<axis = 0>(s)")
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT16, None))
    del model.graph.value_info[:]
    model.graph.value_info.append(helper.make_value_info("s", kind))
    result = check(model)
    assert {value.name for value in result.graph.value_info} >= {"s"}
    assert all("elem_type: 10" not in str(value) for value in result.graph.value_info)


def test_types_are_widened_wherever_they_are_held() -> None:
    half_tensor = helper.make_tensor_type_proto(TensorProto.FLOAT16, [2])
    for kind in (
        half_tensor,
        helper.make_sparse_tensor_type_proto(TensorProto.FLOAT16, [2]),
        helper.make_sequence_type_proto(half_tensor),
        helper.make_optional_type_proto(helper.make_sequence_type_proto(half_tensor)),
        helper.make_map_type_proto(TensorProto.INT64, half_tensor),
    ):
        assert _type(kind) == 1
        assert str(kind).count("elem_type: 1\n") == 1
        assert _type(kind) == 0
    assert _type(onnx.TypeProto()) == 0
