"""Four bits have sixteen codes, two of them in a byte."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper
from onnxruntime.quantization import QuantFormat, QuantType
from onnxruntime.quantization import quantize_static as upstream

from .checks import assert_close, constants_of, model, quantized, samples, weights

if TYPE_CHECKING:
    from pathlib import Path

FOUR = {"QInt4": (QuantType.QInt4, TensorProto.INT4, -8, 7), "QUInt4": (QuantType.QUInt4, TensorProto.UINT4, 0, 15)}


def product(rows: int = 33, columns: int = 5, opset: int = 21) -> onnx.ModelProto:
    text = f"t (float[2, {rows}] x) => (float[2, {columns}] y) {{ y = MatMul(x, w) }}"
    return model(text, {"w": weights(1, rows, columns)}, opset=opset, ir_version=10)


def named(result: onnx.ModelProto, name: str) -> TensorProto:
    (tensor,) = (tensor for tensor in result.graph.initializer if tensor.name == name)
    return tensor


@pytest.mark.parametrize("opset", [17, 21])
@pytest.mark.parametrize("name", FOUR)
def test_all_codes_are_used_as_onnxruntime_uses_them(name: str, opset: int, tmp_path: Path, reader: Any) -> None:
    kind, element_type, low, high = FOUR[name]
    source = product(opset=opset)
    path = tmp_path / "float.onnx"
    onnx.save(source, path)
    arguments: dict[str, Any] = {
        "activation_type": QuantType.QUInt8,
        "weight_type": kind,
        "extra_options": {"WeightSymmetric": True},
    }
    upstream(path, tmp_path / "theirs.onnx", reader(samples(source)), quant_format=QuantFormat.QDQ, **arguments)
    theirs, ours = onnx.load(tmp_path / "theirs.onnx"), quantized(source, **arguments).model
    assert named(ours, "w_quantized").data_type == element_type
    values = [numpy_helper.to_array(named(each, "w_quantized")).astype(int) for each in (ours, theirs)]
    np.testing.assert_array_equal(*values)
    np.testing.assert_allclose(constants_of(ours)["w_scale"], constants_of(theirs)["w_scale"], rtol=1e-6)
    assert {values[0].min(), values[0].max()} & {low, high}
    assert_close(source, ours, 10.0)


@pytest.mark.parametrize("columns", [5, 4])  # an odd count of codes, and an even one
@pytest.mark.parametrize("name", FOUR)
def test_codes_are_packed_in_raw_data(name: str, columns: int) -> None:
    result = quantized(product(columns=columns), weight_type=FOUR[name][0]).model
    tensor = named(result, "w_quantized")
    assert len(tensor.raw_data) == (33 * columns + 1) // 2
    assert not tensor.int32_data


def test_large_codes_go_to_external_data(tmp_path: Path) -> None:
    source = product(512, 512)
    path = tmp_path / "q.onnx"
    quantized(source, output=path, weight_type=QuantType.QInt4, use_external_data_format=True)
    light = onnx.load(path, load_external_data=False)
    assert named(light, "w_quantized").data_location == TensorProto.EXTERNAL
    assert_close(source, str(path), 8.0)


@pytest.mark.parametrize("name", ["QInt8", "QInt16"])
def test_eight_and_sixteen_bits_give_up_the_lowest_code(name: str) -> None:
    result = quantized(product(), weight_type=getattr(QuantType, name), activation_type=QuantType.QUInt8)
    reach = 2 ** (int(name[4:]) - 1) - 1
    assert constants_of(result)["w_scale"] == pytest.approx(np.abs(weights(1, 33, 5)).max() / reach, rel=1e-6)
    assert np.abs(constants_of(result)["w_quantized"].astype(int)).max() == reach
