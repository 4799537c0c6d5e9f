"""Quantized operators give the numbers of the pairs that they replace, up to one code of rounding.

Weights keep to seven bits where activations are uint8: kernels without VNNI add pairs of products in 16 bits.
"""

# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType
from onnxruntime.quantization.quantize import quantize_static as ort_quantize_static

import ort_vitis_plugin
from ort_vitis_plugin import PowerOfTwoMethod
from ort_vitis_plugin.convert import qdq_to_qoperator
from ort_vitis_plugin.convert.integer_kernels import cpu_saturates
from ort_vitis_plugin.demo import data
from ort_vitis_plugin.graph import Skip
from ort_vitis_plugin.testing import LEVELS, random_feeds, run_model
from tests.models import networks

U8, I8 = np.dtype(np.uint8), np.dtype(np.int8)
STEP = 0.02
SOFTMAX_EXACT = 0.5  # onnxruntime's table of exponentials is rounded to integers


class Pairs:
    """Builds one float operator between dequantize and quantize nodes."""

    def __init__(self, kind: np.dtype[Any], opset: int = 17) -> None:
        self.kind, self.opset = kind, opset
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, np.ndarray] = {}
        self.inputs: list[onnx.ValueInfoProto] = []
        self.zero = np.iinfo(kind).min + 100

    def parameters(self, name: str, scale: Any, zero: Any, kind: np.dtype[Any]) -> list[str]:
        self.constants[f"{name}_scale"] = np.asarray(scale, np.float32)
        self.constants[f"{name}_zero_point"] = np.asarray(zero, kind)
        return [f"{name}_scale", f"{name}_zero_point"]

    def activation(self, name: str, shape: list[int], scale: float = STEP, kind: np.dtype[Any] | None = None) -> str:
        kind = kind or self.kind
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        ends = self.parameters(name, scale, np.iinfo(kind).min + 100, kind)
        self.nodes.append(helper.make_node("QuantizeLinear", [name, *ends], [f"{name}_Q"], f"{name}_QuantizeLinear"))
        self.nodes.append(helper.make_node("DequantizeLinear", [f"{name}_Q", *ends], [f"{name}_DQ"], f"{name}_DQ"))
        return f"{name}_DQ"

    def weight(
        self, name: str, codes: np.ndarray, scale: Any, zero: Any = 0, axis: int | None = None, bits: int = 8
    ) -> str:
        ends = self.parameters(name, scale, zero, codes.dtype if bits == 8 else np.dtype(np.int32))
        self.constants[f"{name}_quantized"] = codes
        attributes = {} if axis is None else {"axis": axis}
        self.nodes.append(
            helper.make_node("DequantizeLinear", [f"{name}_quantized", *ends], [name], f"{name}_DQ", **attributes)
        )
        return name

    def output(self, tensor: str, name: str, scale: float, zero: int, kind: np.dtype[Any] | None = None) -> None:
        ends = self.parameters(name, scale, zero, kind or self.kind)
        self.nodes.append(helper.make_node("QuantizeLinear", [tensor, *ends], [f"{name}_Q"], f"{name}_QuantizeLinear"))
        self.nodes.append(helper.make_node("DequantizeLinear", [f"{name}_Q", *ends], [name], f"{name}_DQ"))

    def op(self, op_type: str, inputs: list[str], outputs: list[str] | None = None, **attributes: Any) -> None:
        name = "op" if all(node.name != "op" for node in self.nodes) else f"op_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, inputs, outputs or ["t"], name, **attributes))

    def model(self, *outputs: str, kind: int = TensorProto.FLOAT) -> ModelProto:
        graph = helper.make_graph(
            self.nodes,
            "pairs",
            self.inputs,
            [helper.make_tensor_value_info(name, kind, None) for name in outputs or ("y",)],
            [numpy_helper.from_array(array, name) for name, array in self.constants.items()],
        )
        opsets = [helper.make_opsetid("", self.opset)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        return onnx.shape_inference.infer_shapes(model, data_prop=True)


def converted(model: ModelProto, skips: list[Skip] | None = None) -> ModelProto:
    before = model.SerializeToString(deterministic=True)
    result = qdq_to_qoperator(model, skips)
    assert model.SerializeToString(deterministic=True) == before
    onnx.checker.check_model(result, full_check=True)
    return result


def types(model: ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


def check_codes(before: ModelProto, after: ModelProto, step: float, most: float = 1.0, exact: float = 0.9) -> None:
    """Both levels of the result agree with the unoptimized pairs within ``most`` codes, most of them exactly."""
    feeds = random_feeds(before)
    wanted = run_model(before, feeds, LEVELS[0])
    assert any(np.ptp(values) > 10 * step for values in wanted.values()), "the model says too little"
    for level in LEVELS:
        for name, values in run_model(after, feeds, level).items():
            codes = np.abs(values.astype(np.float64) - wanted[name]) / step
            assert codes.max() <= most + 1e-3, f"{name} at {level}: {codes.max()} codes"
            assert np.mean(codes < 0.5) >= exact, f"{name} at {level}: {np.mean(codes < 0.5):.0%} exact"


def finish(pairs: Pairs, low: float, high: float) -> tuple[ModelProto, float]:
    """The result of "t" takes the range [low, high]."""
    step = (high - low) / 255
    pairs.output("t", "y", step, round(np.iinfo(pairs.kind).min - low / step))
    return pairs.model(), step


# ---------------------------------------------------------------------- operators with their own arithmetic

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


# ---------------------------------------------------------------------- products


def codes(shape: tuple[int, ...], kind: np.dtype[Any], seed: int = 0) -> np.ndarray:
    """Codes within seven bits around 0, or around 64 for uint8."""
    values = np.random.default_rng(seed).integers(-63, 64, shape)
    return (values + 64 * (kind == U8)).astype(kind)


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


# ---------------------------------------------------------------------- data movement

I64 = np.int64
MOVES = [
    ("Reshape", [2, 6], {}, [np.array([3, 4], I64)]),
    ("Transpose", [2, 6], {"perm": [1, 0]}, []),
    ("Squeeze", [1, 6, 2], {}, [np.array([0], I64)]),
    ("Unsqueeze", [6, 2], {}, [np.array([0], I64)]),
    ("Flatten", [2, 3, 2], {}, []),
    ("MaxPool", [1, 2, 6, 6], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}, []),
    ("Gather", [4, 3], {"axis": 0}, [np.array([2, 0], I64)]),
    ("Slice", [4, 6], {}, [np.array([1], I64), np.array([3], I64)]),
    ("Expand", [1, 6], {}, [np.array([3, 6], I64)]),
    ("Tile", [2, 6], {}, [np.array([2, 1], I64)]),
    ("Resize", [1, 1, 3, 3], {"mode": "nearest"}, [np.zeros(0, np.float32), np.array([1, 1, 2, 2], np.float32)]),
    ("Pad", [2, 6], {}, [np.array([0, 1, 1, 0], I64)]),
    ("Pad", [2, 6], {}, [np.array([0, 1, 1, 0], I64), np.array(-0.5, np.float32)]),
    ("Pad", [2, 6], {"mode": "reflect"}, [np.array([0, 1, 1, 0], I64)]),
]


@pytest.mark.parametrize("kind", [U8, I8], ids=str)
@pytest.mark.parametrize("opset", [13, 17, 21])
@pytest.mark.parametrize(("op_type", "shape", "attributes", "operands"), MOVES)
def test_codes_move_without_arithmetic(
    op_type: str, shape: list[int], attributes: dict[str, Any], operands: list[Any], opset: int, kind: Any
) -> None:
    pairs = Pairs(kind, opset)
    x = pairs.activation("x", shape)
    for number, array in enumerate(operands):
        pairs.constants[f"c{number}"] = array
    pairs.op(op_type, [x, *(f"c{number}" for number in range(len(operands)))], **attributes)
    pairs.output("t", "y", STEP, pairs.zero)
    model = pairs.model()
    result = converted(model)
    assert types(result) == ["QuantizeLinear", op_type, "DequantizeLinear"]
    check_codes(model, result, STEP, 0)


def test_a_split_moves_to_all_its_outputs() -> None:
    pairs = Pairs(I8)
    pairs.op("Split", [pairs.activation("x", [6, 4])], ["s", "t"], axis=0)
    for tensor, name in (("s", "y"), ("t", "z")):
        pairs.output(tensor, name, STEP, pairs.zero)
    model = pairs.model("y", "z")
    result = converted(model)
    assert types(result) == ["QuantizeLinear", "Split", "DequantizeLinear", "DequantizeLinear"]
    check_codes(model, result, STEP, 0)


def test_the_largest_code_is_the_largest_number() -> None:
    pairs = Pairs(U8)
    pairs.op("ArgMax", [pairs.activation("x", [5, 9])], ["y"], axis=1)
    model = pairs.model(kind=TensorProto.INT64)
    result = converted(model)
    assert types(result) == ["QuantizeLinear", "ArgMax"]
    feeds = random_feeds(model)
    np.testing.assert_array_equal(run_model(result, feeds)["y"], run_model(model, feeds, LEVELS[0])["y"])


def test_two_pads_share_a_value_but_not_its_code() -> None:
    pairs = Pairs(U8)
    pairs.constants |= {"pads": np.array([0, 1, 0, 1], I64), "fill": np.array(0.5, np.float32)}
    for number, scale in enumerate((0.02, 0.04)):
        pairs.op("Pad", [pairs.activation(f"x{number}", [2, 3], scale), "pads", "fill"], [f"t{number}"])
        pairs.output(f"t{number}", f"y{number}", scale, pairs.zero)
    pairs.op("Add", ["y0", "fill"], ["float"])
    model = pairs.model("y0", "y1", "float")
    result = converted(model)
    fills = {
        tensor.name: numpy_helper.to_array(tensor).item()
        for tensor in result.graph.initializer
        if tensor.name.endswith("_value_quantized") or "_value_quantized_" in tensor.name
    }
    assert sorted(fills.values()) == [100 + 12, 100 + 25]  # 0.5 / 0.04 = 12.5 goes to even
    check_codes(model, result, STEP, 1)
    wanted = run_model(model, random_feeds(model), LEVELS[0])
    found = run_model(result, random_feeds(model), LEVELS[0])
    for name, values in wanted.items():
        np.testing.assert_array_equal(found[name], values)


# ---------------------------------------------------------------------- what stays as it is


def refused(pairs: Pairs, *outputs: str) -> str:
    """The reason why "op" keeps its pairs; its result stays the same."""
    model, skips = pairs.model(*outputs), []
    result = converted(model, skips)
    assert Counter(types(result)) == Counter(types(model))
    feeds = random_feeds(model)
    wanted, found = run_model(model, feeds, LEVELS[0]), run_model(result, feeds, LEVELS[0])
    for name, values in wanted.items():
        np.testing.assert_array_equal(found[name], values)
    return str(next(skip.reason for skip in skips if skip.node == "op"))


def test_a_float_output_is_not_quantized() -> None:
    pairs = Pairs(U8)
    pairs.op("Sigmoid", [pairs.activation("x", [2, 3])], ["y"])
    assert "does not go to one QuantizeLinear" in refused(pairs)


def test_an_output_that_others_read_too_stays_float() -> None:
    pairs = Pairs(U8)
    pairs.op("Sigmoid", [pairs.activation("x", [2, 3])])
    pairs.output("t", "y", 1 / 255, 0)
    pairs.nodes.append(helper.make_node("Tanh", ["t"], ["z"], "tanh"))
    assert "does not go to one QuantizeLinear" in refused(pairs, "y", "z")


def test_types_that_no_kernel_takes() -> None:
    pairs = Pairs(U8)
    pairs.op("Add", [pairs.activation("a", [2, 3]), pairs.activation("b", [2, 3], kind=I8)])
    pairs.output("t", "y", STEP, pairs.zero)
    assert "different types" in refused(pairs)


def test_int8_activations_with_uint8_weights() -> None:
    pairs = Pairs(I8)
    pairs.op("MatMul", [pairs.activation("x", [2, 3]), pairs.weight("w", codes((3, 4), U8), 0.01, 64)])
    pairs.output("t", "y", STEP, pairs.zero)
    assert "int8 activations with uint8 weights" in refused(pairs)


@pytest.mark.parametrize("bits", [8, 32])
def test_a_bias_with_a_scale_of_its_own(bits: int) -> None:
    """As the NPU has it: int8; or int32 by another tool's scale."""
    pairs = Pairs(U8)
    bias = np.array([5, -7], np.int8 if bits == 8 else np.int32)
    w = pairs.weight("w", codes((2, 3, 1, 1), I8), 0.01)
    pairs.op("Conv", [pairs.activation("x", [1, 3, 4, 4]), w, pairs.weight("b", bias, 0.5, 0, None, bits)])
    pairs.output("t", "y", 0.05, pairs.zero)
    assert "bias" in refused(pairs)


def test_a_float_bias() -> None:
    pairs = Pairs(U8)
    pairs.constants["b"] = np.array([0.5, -1], np.float32)
    pairs.op("Conv", [pairs.activation("x", [1, 3, 4, 4]), pairs.weight("w", codes((2, 3, 1, 1), I8), 0.01), "b"])
    pairs.output("t", "y", 0.05, pairs.zero)
    assert "bias" in refused(pairs)


def test_channels_with_zero_points_of_their_own() -> None:
    pairs = Pairs(U8)
    w = pairs.weight("w", codes((2, 3, 1, 1), I8), np.array([0.01, 0.02]), np.array([0, 3]), 0)
    pairs.op("Conv", [pairs.activation("x", [1, 3, 4, 4]), w])
    pairs.output("t", "y", 0.05, pairs.zero)
    assert "zero points" in refused(pairs)


def test_scales_along_the_axis_that_is_summed() -> None:
    pairs = Pairs(U8)
    w = pairs.weight("w", codes((3, 3), I8), np.array([0.01, 0.02, 0.03]), np.zeros(3, int), 0)
    pairs.op("MatMul", [pairs.activation("x", [4, 3]), w])
    pairs.output("t", "y", 0.05, pairs.zero)
    assert "another axis" in refused(pairs)


def test_movement_to_another_scale() -> None:
    pairs = Pairs(U8)
    pairs.op("Transpose", [pairs.activation("x", [4, 3])])
    pairs.output("t", "y", 0.03, pairs.zero)
    assert "another scale" in refused(pairs)


def test_max_pool_below_opset_12() -> None:
    pairs = Pairs(U8, 11)
    pairs.op("MaxPool", [pairs.activation("x", [1, 1, 4, 4])], kernel_shape=[2, 2])
    pairs.output("t", "y", STEP, pairs.zero)
    assert "opset 12" in refused(pairs)


def test_interpolation() -> None:
    pairs = Pairs(U8)
    pairs.constants |= {"roi": np.zeros(0, np.float32), "factors": np.array([1, 1, 2, 2], np.float32)}
    pairs.op("Resize", [pairs.activation("x", [1, 1, 3, 3]), "roi", "factors"], mode="linear")
    pairs.output("t", "y", STEP, pairs.zero)
    assert "cut off" in refused(pairs)


def test_an_int8_softmax_whose_one_has_no_code() -> None:
    """onnxruntime 1.20 writes -128 for 128."""
    pairs = Pairs(I8)
    pairs.op("Softmax", [pairs.activation("x", [2, 3])])
    pairs.output("t", "y", 1 / 128, 0)
    assert "wrap around" in refused(pairs)


def test_sixteen_bits() -> None:
    pairs = Pairs(np.dtype(np.int16), 21)
    pairs.op("Add", [pairs.activation("a", [2, 3]), pairs.activation("b", [2, 3])])
    pairs.output("t", "y", STEP, 0)
    model = pairs.model()
    assert types(converted(model)) == types(model)


# ---------------------------------------------------------------------- pairs in other shapes


def test_names_that_other_tools_rely_on() -> None:
    result = ort_vitis_plugin.quantize_static(
        onnx.load(data.model_path()), None, data.calibration_reader(4), quant_format=QuantFormat.QOperator
    ).model
    original = {node.name for node in onnx.load(data.model_path()).graph.node}
    convs = [node for node in result.graph.node if node.op_type == "QLinearConv"]
    assert len(convs) == 8
    for node in convs:
        assert node.name.removesuffix("_quant") in original
        assert node.output[0].endswith("_quantized")
        w = node.input[3].removesuffix("_quantized")
        assert list(node.input[3:6]) == [f"{w}_quantized", f"{w}_scale", f"{w}_zero_point"]
    last = result.graph.node[-1]
    assert (last.op_type, last.name) == ("DequantizeLinear", "logits_DequantizeLinear")
    assert (list(last.input), list(last.output)) == (
        ["logits_quantized", "logits_scale", "logits_zero_point"],
        ["logits"],
    )
    assert {entry.domain for entry in result.opset_import} >= {"", "com.microsoft"}


def test_a_pair_for_each_reader_is_one_tensor() -> None:
    pairs = Pairs(U8)
    pairs.op("Sigmoid", [pairs.activation("x", [2, 3])])
    pairs.output("t", "y", 1 / 255, 0)
    pairs.output("t", "z", 1 / 255, 0)
    model = pairs.model("y", "z")
    result = converted(model)
    assert types(result) == ["QuantizeLinear", "QLinearSigmoid", "DequantizeLinear", "DequantizeLinear"]
    check_codes(model, result, 1 / 255)


def test_codes_that_are_a_graph_output_keep_their_name() -> None:
    pairs = Pairs(U8)
    pairs.op("Sigmoid", [pairs.activation("x", [2, 3])])
    pairs.output("t", "y", 1 / 255, 0)
    model = pairs.model("y_Q", kind=TensorProto.UINT8)
    result = converted(model)
    assert types(result) == ["QuantizeLinear", "QLinearSigmoid"]
    assert result.graph.output[0].name == "y_Q"


def test_weights_behind_pairs_are_stored_as_codes() -> None:
    weights = np.random.default_rng(0).uniform(-0.6, 0.6, (4, 3, 3, 3)).astype(np.float32)
    pairs = Pairs(U8)
    pairs.constants["w"] = weights
    ends = pairs.parameters("w", np.full(4, 0.01), np.zeros(4), I8)
    pairs.nodes.append(helper.make_node("QuantizeLinear", ["w", *ends], ["w_Q"], "w_Q", axis=0))
    pairs.nodes.append(helper.make_node("DequantizeLinear", ["w_Q", *ends], ["w_DQ"], "w_DQ", axis=0))
    pairs.op("Conv", [pairs.activation("x", [1, 3, 5, 5]), "w_DQ"])
    model, step = finish(pairs, -6, 6)
    result = converted(model)
    assert types(result) == ["QuantizeLinear", "QLinearConv", "DequantizeLinear"]
    stored = {tensor.name: tensor for tensor in result.graph.initializer}
    assert "w" not in stored
    np.testing.assert_array_equal(
        numpy_helper.to_array(stored["w_quantized"]), np.rint(weights / np.float32(0.01)).astype(np.int8)
    )
    check_codes(model, result, step)


def test_nodes_without_zero_points_mean_zero() -> None:
    pairs = Pairs(U8)
    pairs.op("Sigmoid", [pairs.activation("x", [2, 3])])
    pairs.output("t", "y", 1 / 255, 0)
    model = pairs.model()
    for node in model.graph.node[-2:]:
        del node.input[2]
    result = converted(model)
    assert "QLinearSigmoid" in types(result)
    check_codes(model, result, 1 / 255)


def test_what_a_float_operator_reads_stays_dequantized() -> None:
    pairs = Pairs(U8)
    x = pairs.activation("x", [2, 3])
    pairs.op("Sigmoid", [x])
    pairs.output("t", "y", 1 / 255, 0)
    pairs.nodes.append(helper.make_node("Erf", [x], ["z"], "erf"))
    model = pairs.model("y", "z")
    result = converted(model)
    assert Counter(types(result)) == Counter(
        ["QuantizeLinear", "QLinearSigmoid", "DequantizeLinear", "DequantizeLinear", "Erf"]
    )
    check_codes(model, result, 1 / 255)


# ---------------------------------------------------------------------- a trained network


def session(model: ModelProto, level: Any) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.graph_optimization_level, options.intra_op_num_threads = level, 1
    options.log_severity_level = 3
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("per_channel", [False, True], ids=["tensor", "channel"])
@pytest.mark.parametrize("method", [CalibrationMethod.MinMax, PowerOfTwoMethod.MinMSE])
@pytest.mark.parametrize("activation", [QuantType.QUInt8, QuantType.QInt8])
def test_digits_keep_their_accuracy(activation: Any, method: Any, per_channel: bool) -> None:
    model = ort_vitis_plugin.quantize_static(
        onnx.load(data.model_path()),
        None,
        data.calibration_reader(8),
        calibrate_method=method,
        activation_type=activation,
        weight_type=QuantType.QInt8,
        per_channel=per_channel,
        reduce_range=True,
        extra_options={"Recipe": "plain"},
    ).model
    result = converted(model)
    assert not {"Conv", "Gemm", "Add", "Concat", "GlobalAveragePool"} & set(types(result))
    pairs = session(model, LEVELS[0])
    step = numpy_helper.to_array(next(t for t in result.graph.initializer if t.name == "logits_scale")).item()
    for level in LEVELS:
        operators = session(result, level)
        assert data.evaluate(operators, 150) >= data.evaluate(pairs, 150) - 0.005
        codes = [
            np.abs(operators.run(None, feed)[0] - pairs.run(None, feed)[0]) / step for feed in data.evaluation_feeds(20)
        ]
        assert np.max(codes) <= 3.01  # one code of rounding per layer, twelve layers
        assert np.mean(codes) <= 0.5


@pytest.mark.parametrize("per_channel", [False, True], ids=["tensor", "channel"])
def test_a_model_that_onnxruntime_quantized(tmp_path: Any, per_channel: bool) -> None:
    path = tmp_path / "pairs.onnx"
    ort_quantize_static(
        str(data.model_path()),
        str(path),
        data.calibration_reader(32),
        quant_format=QuantFormat.QDQ,
        per_channel=per_channel,
        reduce_range=True,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
    )
    model = onnx.load(path)
    result = converted(model)
    assert types(result).count("QLinearConv") == types(model).count("Conv") == 8
    pairs = session(model, LEVELS[0])
    for level in LEVELS:
        assert data.evaluate(session(result, level), 200) >= data.evaluate(pairs, 200) - 0.005


# ---------------------------------------------------------------------- models for the NPU


@pytest.mark.parametrize("name", ["digits", "depthwise_skewed"])
def test_npu_models_become_quantized_operators(name: str) -> None:
    """Biases with a position of their own and Relus in front of the pair are no obstacle."""
    model = ort_vitis_plugin.quantize_static(
        str(networks.network(name)),
        None,
        networks.reader(name, 8),
        calibrate_method=PowerOfTwoMethod.MinMSE,
        quant_format=QuantFormat.QDQ,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        enable_dpu=True,
    ).model
    skips: list[Skip] = []
    after = converted(model, skips)
    finer = sum("bias" in skip.reason and skip.op_type == "Conv" for skip in skips)
    assert types(after).count("QLinearConv") == types(model).count("Conv") - types(after).count("Conv")
    assert types(after).count("QGemm") == 1
    assert types(after).count("Conv") <= finer
    assert "Relu" not in types(after)
    for feeds in networks.digits(name, 1, 10).evaluation:
        wanted = run_model(model, feeds, LEVELS[0])["logits"]
        for level in LEVELS:
            found = run_model(after, feeds, level)["logits"]
            if cpu_saturates():  # sums of pairs of products: some logits are a code or two off
                assert np.argmax(found) == np.argmax(wanted)
            else:
                np.testing.assert_array_equal(found, wanted)
