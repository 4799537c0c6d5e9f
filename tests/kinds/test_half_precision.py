"""float16 between pairs: what onnxruntime would fuse into an operator that it has for float32 only stays apart."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto
from onnxruntime.quantization import CalibrationMethod, QuantFormat

from ort_vitis_plugin import PowerOfTwoMethod

from .checks import S8S8, U8S8, Arguments, assert_close, dequantizer, model, nodes, quantized, weights

HALF: dict[str, Any] = {
    "w": weights(1, 4, 3, 3, 3).astype(np.float16),
    "v": weights(2, 2, 3, 3, 3).astype(np.float16),
    "b": weights(3, 4).astype(np.float16),
}
FORMS: dict[str, Arguments] = {
    "u8": U8S8,
    "s8 per channel": {**S8S8, "per_channel": True},
    "powers": {"calibrate_method": PowerOfTwoMethod.MinMSE},
    "npu": {**U8S8, "calibrate_method": PowerOfTwoMethod.MinMSE, "enable_dpu": True},
    "entropy": {"calibrate_method": CalibrationMethod.Entropy},
    "qoperator": {"quant_format": QuantFormat.QOperator},
    "dedicated": {"extra_options": {"DedicatedQDQPair": True}},
}
CONCATS: dict[str, tuple[str, dict[str, Any]]] = {
    "at the end": ("y = Concat<axis = 1>(h, k)", {}),
    "of one tensor twice and a constant": ("y = Concat<axis = 1>(h, h, c)", {"c": HALF["v"][:1, :2, :3, :3]}),
    "along a negative axis, then Conv": (
        "m = Concat<axis = -3>(h, k) y = Conv(m, u)",
        {"u": weights(4, 3, 6, 1, 1).astype(np.float16)},
    ),
    "then Resize, which shares its scale": (
        'm = Concat<axis = 1>(h, k) y = Resize<mode = "nearest">(m, , f)',
        {"f": np.float32([1, 1, 2, 2])},
    ),
    "of Concats": ("m = Concat<axis = 1>(h, k) r = Relu(m) y = Concat<axis = 1>(r, m)", {}),
    "that two nodes read": ("m = Concat<axis = 1>(h, k) p = Sigmoid(m) y = Mul(m, p)", {}),
}
OTHERS = {
    "Add": "y = Add(h, h)",
    "Mul": "y = Mul(h, h)",
    "Sigmoid": "y = Sigmoid(h)",
    "LeakyRelu": "y = LeakyRelu(h)",
    "Softmax": "y = Softmax<axis = 1>(h)",
    "AveragePool": "y = AveragePool<kernel_shape = [2, 2]>(h)",
    "GlobalAveragePool": "y = GlobalAveragePool(h)",
    "MaxPool": "y = MaxPool<kernel_shape = [2, 2]>(h)",
    "Transpose": "y = Transpose(h)",
    "Where": "z = Identity(h) g = Greater(h, z) n = Neg(h) y = Where(g, h, n)",
    "Split": "y, z = Split<axis = 1>(h)",
}


def source(body: str, constants: dict[str, Any], opset: int) -> ModelProto:
    second = "k = Conv(x, v)" if "k)" in body else ""
    used = {name: HALF[name] for name in ("w", "b", *("v" if second else ""))}
    text = f"t (float16[1, 3, 5, 5] x) => (float16[a, m, n, o] y) {{ h = Conv(x, w, b) {second} {body} }}"
    return model(text, {**used, **constants}, opset=opset, ir_version=8 if opset < 19 else 10)


@pytest.mark.parametrize("opset", [17, pytest.param(21, marks=pytest.mark.slow)])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", CONCATS)
def test_concat(case: str, form: str, opset: int) -> None:
    made = source(*CONCATS[case], opset)
    result = quantized(made, **FORMS[form])
    assert_close(made, result, 12.0)


@pytest.mark.parametrize("op_type", OTHERS)
def test_other_operators_keep_their_pairs_of_float16(op_type: str) -> None:
    made = source(OTHERS[op_type], {}, 17)
    result = quantized(made)
    assert_close(made, result, 20.0)
    assert {node.input[0] for node in nodes(result, "Cast")} <= {"b_DequantizeLinear_Output"}


def test_the_output_of_a_concat_is_still_quantized() -> None:
    result = quantized(source(*CONCATS["along a negative axis, then Conv"], 19))
    conv = next(node for node in nodes(result, "Conv") if node.output[0].startswith("y"))
    cast = next(node for node in nodes(result, "Cast") if node.output[0] == conv.input[0])
    assert dequantizer(result, cast.input[0])
