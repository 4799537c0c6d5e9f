"""Options of onnxruntime's act in our pipeline as in its own, or are refused before work with its own call named."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType
from onnxruntime.quantization import quantize_static as upstream

from ort_vitis_plugin import PowerOfTwoMethod
from ort_vitis_plugin.errors import OptionError, UnsupportedError
from ort_vitis_plugin.options.options import OptionWarning

from .checks import U8S8, assert_close, constants_of, model, nodes, quantized, samples, weights

if TYPE_CHECKING:
    from pathlib import Path

FLOAT_METHODS = ["MinMax", "Entropy", "Percentile", "Distribution"]
POWERS = ["MinMSE", "NonOverflow"]
TEXT = (
    "t (float[2, 8] x) => (float[2, 6] y) "
    "{ h = MatMul(x, w) r = Relu(h) s = Sigmoid(h) m = Mul(r, s) y = MatMul(m, v) }"
)


def source(opset: int = 17) -> ModelProto:
    return model(TEXT, {"w": weights(1, 8, 8) + 0.3, "v": weights(2, 8, 6)}, opset=opset, ir_version=10)


def parameters(result: Any, tensor: str) -> tuple[float, int]:
    arrays = constants_of(result)
    return float(arrays[f"{tensor}_scale"]), int(arrays[f"{tensor}_zero_point"])


def theirs(tmp_path: Path, reader: Any, proto: ModelProto, **arguments: Any) -> ModelProto:
    onnx.save(proto, tmp_path / "float.onnx")
    upstream(tmp_path / "float.onnx", tmp_path / "theirs.onnx", reader(samples(proto)), **arguments)
    return onnx.load(tmp_path / "theirs.onnx")


@pytest.mark.parametrize("kind", [QuantType.QUInt8, QuantType.QInt8])
@pytest.mark.parametrize("method", FLOAT_METHODS + POWERS)
def test_calibrated_ranges_are_symmetric_for_every_method(method: str, kind: QuantType) -> None:
    given = {"activation_type": kind, "calibrate_method": method}
    result = quantized(source(), extra_options={"CalibTensorRangeSymmetric": True}, **given)
    middle = 128 if kind is QuantType.QUInt8 else 0
    for tensor in ("x", "y"):
        assert abs(parameters(result, tensor)[1] - middle) <= (0 if method in POWERS else 1)
    plain = quantized(source(), extra_options={"CalibTensorRangeSymmetric": False}, **given)
    assert parameters(plain, "m")[1] != parameters(result, "m")[1]


@pytest.mark.parametrize("kind", ["QInt8", "QUInt8", "QInt4", "QUInt4", "QInt16", "QUInt16"])
def test_weights_are_symmetric_by_default_as_documented(kind: str) -> None:
    result = quantized(source(), weight_type=getattr(QuantType, kind))
    bits = int("".join(filter(str.isdigit, kind)))
    assert parameters(result, "w")[1] == (2 ** (bits - 1) if "U" in kind else 0)
    asymmetric = quantized(source(), weight_type=getattr(QuantType, kind), extra_options={"WeightSymmetric": False})
    assert parameters(asymmetric, "w")[1] != parameters(result, "w")[1]


@pytest.mark.parametrize("method", FLOAT_METHODS + POWERS)
def test_no_range_is_narrower_than_the_least(method: str) -> None:
    result = quantized(source(), calibrate_method=method, extra_options={"MinimumRealRange": 64.0})
    for tensor in ("x", "m", "y"):
        assert parameters(result, tensor)[0] * 255 >= 64 * (1 - 1e-6)


@pytest.mark.parametrize("method", FLOAT_METHODS + POWERS)
def test_restricted_zero_points_lie_at_the_end_or_in_the_middle(method: str) -> None:
    proto = source()
    result = quantized(proto, calibrate_method=method, extra_options={"ActivationRestrictedAsymmetric": True})
    assert parameters(result, "x")[1] == parameters(result, "y")[1] == 128
    assert parameters(result, "r")[1] == 0
    assert_close(proto, result, 20.0)


def test_restricted_parameters_are_onnxruntimes(tmp_path: Path, reader: Any) -> None:
    arguments: dict[str, Any] = {**U8S8, "extra_options": {"ActivationRestrictedAsymmetric": True}}
    other = theirs(tmp_path, reader, source(), **arguments)
    if parameters(other, "x")[1] != 128:
        pytest.skip("this onnxruntime does not know the option")
    result = quantized(source(), optimize_model=False, **arguments)
    for tensor in ("x", "y", "m"):
        np.testing.assert_allclose(parameters(result, tensor), parameters(other, tensor), rtol=1e-6)


@pytest.mark.parametrize("kind", [QuantType.QUInt8, QuantType.QInt8])
def test_sigmoid_of_nnapi(kind: QuantType) -> None:
    options = {"extra.Sigmoid.nnapi": True}
    proto = source()
    result = quantized(proto, activation_type=kind, quant_format=QuantFormat.QOperator, extra_options=options)
    assert parameters(result, "s") == (1 / 256, 0 if kind is QuantType.QUInt8 else -128)
    assert_close(proto, result, 20.0)


def test_a_default_type_lets_the_reader_of_a_foreign_operator_be_quantized() -> None:
    proto = model(
        "t (float[2, 8] x) => (float[2, 6] y) { h = com.microsoft.SparseToDenseMatMul(x, e) y = MatMul(h, w) }", {}
    )
    del proto.graph.node[0].input[1:]
    proto.graph.node[0].op_type, proto.graph.node[0].domain = "Gelu", "com.microsoft"
    proto.graph.initializer.append(numpy_helper.from_array(weights(1, 8, 6), "w"))
    result = quantized(proto, optimize_model=False, extra_options={"DefaultTensorType": TensorProto.FLOAT})
    assert nodes(result, "MatMul")[0].input[0] != "h"
    assert_close(proto, result, 20.0)


def test_smooth_quant_is_refused_before_work_and_names_its_call() -> None:
    with pytest.raises(UnsupportedError, match=r"onnxruntime\.quantization\.quantize_static"):
        quantized(source(), extra_options={"SmoothQuant": True})


@pytest.mark.skipif(tuple(map(int, ort.__version__.split(".")[:2])) < (1, 32), reason="BlockSize is of 1.32")
@pytest.mark.parametrize("kind", ["QInt4", "QUInt4", "QInt8", "QUInt8"])
@pytest.mark.parametrize("symmetric", [True, False])
def test_blocks_are_onnxruntimes(kind: str, symmetric: bool, tmp_path: Path, reader: Any) -> None:
    proto = model(
        "t (float[2, 70] x) => (float[2, 6] y) { y = MatMul(x, w) }", {"w": weights(1, 70, 6)}, opset=21, ir_version=10
    )
    arguments: dict[str, Any] = {
        "activation_type": QuantType.QUInt8,
        "weight_type": getattr(QuantType, kind),
        "extra_options": {"BlockSize": 32, "WeightSymmetric": symmetric},
    }
    other, result = theirs(tmp_path, reader, proto, **arguments), quantized(proto, **arguments)
    for name in ("w_scale", "w_zero_point", "w_quantized"):
        ours = constants_of(result)[name]
        assert ours.shape == constants_of(other)[name].shape
        np.testing.assert_allclose(ours.astype(float), constants_of(other)[name].astype(float), rtol=1e-6)
    for each in (other, result.model):
        (node,) = (node for node in nodes(each, "DequantizeLinear") if node.input[0] == "w_quantized")
        assert {entry.name: helper.get_attribute_value(entry) for entry in node.attribute}["block_size"] == 32
    assert_close(proto, result, 12.0)


def test_blocks_raise_the_opset_and_leave_other_weights_as_they_are() -> None:
    proto = model(
        "t (float[1, 3, 6, 6] x) => (float[1, 5] y) { h = Conv(x, k) f = Flatten(h) y = Gemm(f, w, b) }",
        {"k": weights(1, 4, 3, 3, 3), "w": weights(2, 64, 5), "b": weights(3, 5)},
    )
    result = quantized(proto, extra_options={"BlockSize": 16})
    assert result.model.opset_import[0].version == 21
    assert constants_of(result)["w_scale"].shape == (4, 5)
    assert any("has no blocks" in note for note in result.report.notes)
    assert_close(proto, result, 25.0)


def test_where_nothing_has_blocks_the_call_says_so() -> None:
    """onnxruntime refuses a model with a filter in it; here its matrices have blocks, and without one this is said."""
    proto = model("t (float[1, 3, 6, 6] x) => (float[1, 4, 4, 4] y) { y = Conv(x, k) }", {"k": weights(1, 4, 3, 3, 3)})
    with pytest.warns(OptionWarning, match="BlockSize has no effect because no weight takes blocks"):
        result = quantized(proto, extra_options={"BlockSize": 16})
    assert_close(proto, result, 25.0)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"calibrate_method": PowerOfTwoMethod.MinMSE}, UnsupportedError),
        ({"quant_format": QuantFormat.QOperator}, UnsupportedError),
        ({"extra_options": {"BlockSize": -1}}, OptionError),
    ],
)
def test_impossible_blocks_are_refused(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match="BlockSize"):
        quantized(source(), **{"extra_options": {"BlockSize": 16}, **arguments})


WIDE: dict[str, dict[str, Any]] = {
    "activations": {"activation_type": QuantType.QUInt16},
    "weights": {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt16},
    "one tensor": {"extra_options": {"TensorQuantOverrides": {"x": [{"quant_type": QuantType.QInt16}]}}},
    "converted": {"extra_options": {"TensorQuantOverrides": {"x": [{"convert": {"quant_type": QuantType.QUInt16}}]}}},
}


def pair_domains(result: Any) -> set[str]:
    return {node.domain for node in nodes(result, "QuantizeLinear", "DequantizeLinear")}


@pytest.mark.parametrize("case", WIDE)
def test_sixteen_bits_raise_the_model_and_are_native(case: str) -> None:
    proto = source(opset=13)
    result = quantized(proto, **WIDE[case])
    assert result.model.opset_import[0].version == 21
    assert pair_domains(result) == {""}
    assert_close(proto, result, 25.0)


@pytest.mark.parametrize("case", WIDE)
def test_contrib_pairs_keep_the_opset(case: str) -> None:
    given = {**WIDE[case]}
    options = {**given.pop("extra_options", {}), "UseQDQContribOps": True}
    result = quantized(source(opset=13), extra_options=options, **given)
    assert result.model.opset_import[0].version == 13
    assert pair_domains(result) == {"com.microsoft"}


@pytest.mark.parametrize("target", ["ipu_cnn", "ipu_transformer"])
def test_targets_of_amd_keep_the_opset(target: str) -> None:
    given: dict[str, Any] = {"calibrate_method": "MinMSE"} if target == "ipu_cnn" else {}
    result = quantized(source(opset=13), activation_type=QuantType.QInt16, extra_options={"Target": target}, **given)
    assert result.model.opset_import[0].version == 13
    assert "com.microsoft" in pair_domains(result)


def test_four_bits_alone_keep_the_opset() -> None:
    result = quantized(source(opset=13), weight_type=QuantType.QInt4)
    assert result.model.opset_import[0].version == 13
    assert "com.microsoft" in pair_domains(result)


@pytest.mark.parametrize("method", [CalibrationMethod.MinMax])
def test_eight_bits_keep_the_opset(method: Any) -> None:
    assert quantized(source(opset=13), calibrate_method=method).model.opset_import[0].version == 13
