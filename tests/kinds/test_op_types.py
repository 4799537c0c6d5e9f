"""Which nodes are quantized: as onnxruntime marks them in either format, and the few that it has no handler for."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto
from onnxruntime.quantization import QuantFormat, QuantType
from onnxruntime.quantization import quantize_static as upstream

from .checks import U8S8, assert_close, dequantizer, model, nodes, quantized, samples, weights

OPERATORS = {
    "ArgMax": "a = ArgMax<axis = 1>(h) y = Cast<to = 1>(a)",
    "Add": "y = Add(h, h)",
    "Mul": "y = Mul(h, h)",
    "Relu": "y = Relu(h)",
    "LeakyRelu": "y = LeakyRelu<alpha = 0.1>(h)",
    "Sigmoid": "y = Sigmoid(h)",
    "MaxPool": "y = MaxPool<kernel_shape = [2, 2]>(h)",
    "AveragePool": "y = AveragePool<kernel_shape = [2, 2]>(h)",
    "GlobalAveragePool": "y = GlobalAveragePool(h)",
    "Pad": "y = Pad(h, pads)",
    "Flatten": "y = Flatten(h)",
    "Transpose": "y = Transpose<perm = [0, 2, 3, 1]>(h)",
    "Concat": "y = Concat<axis = 1>(h, h)",
    "MatMul": "y = MatMul(h, m)",
    "Clip": "y = Clip(h, low, high)",
    "Sum": "y = Sum(h, h)",
}
CONSTANTS = {
    "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64),
    "m": weights(5, 6, 6),
    "w": weights(1, 4, 4, 3, 3),
    "low": -0.5,
    "high": 0.5,
    "zero": np.array([0], np.int64),
}
BEFORE = {"alone": "", "behind a Conv": "h = Conv<pads = [1, 1, 1, 1]>(x, w) "}


def one(op_type: str, place: str) -> ModelProto:
    text = BEFORE[place] + OPERATORS[op_type] if BEFORE[place] else re.sub(r"\bh\b", "x", OPERATORS[op_type])
    source = model(f"t (float[1, 4, 6, 6] x) => (float y) {{ {text} }}", {})
    names = {name for node in source.graph.node for name in node.input}
    source = model(
        f"t (float[1, 4, 6, 6] x) => (float y) {{ {text} }}", {k: v for k, v in CONSTANTS.items() if k in names}
    )
    source.graph.output[0].type.tensor_type.ClearField("shape")
    return onnx.shape_inference.infer_shapes(source)


@pytest.mark.parametrize("place", BEFORE)
@pytest.mark.parametrize("op_type", [op_type for op_type in OPERATORS if op_type != "Sum"])
def test_quantized_operators_stand_where_onnxruntime_writes_them(
    op_type: str, place: str, tmp_path: Any, reader: Any
) -> None:
    source = one(op_type, place)
    path, theirs = tmp_path / "float.onnx", tmp_path / "theirs.onnx"
    onnx.save(source, path)
    arguments: dict[str, Any] = {"quant_format": QuantFormat.QOperator, **U8S8}
    upstream(path, theirs, reader(samples(source)), **arguments)
    ours = quantized(source, optimize_model=False, **arguments)
    assert Counter(n.op_type for n in nodes(ours)) == Counter(n.op_type for n in onnx.load(theirs).graph.node)


MORE = {
    "Sum": "(float[1, 4, 4, 4] x, float[1, 4, 4, 4] z) => (float[1, 4, 4, 4] y) { s = Sum(x, z) y = Relu(s) }",
    "Min": "(float[1, 4, 4, 4] x, float[1, 4, 4, 4] z) => (float[1, 4, 4, 4] y) { s = Min(x, z) y = Relu(s) }",
    "Max": "(float[1, 4, 4, 4] x, float[1, 4, 4, 4] z) => (float[1, 4, 4, 4] y) { s = Max(x, z) y = Relu(s) }",
    "DepthToSpace": "(float[1,4,4,4] x) => (float[1,1,8,8] y) { s = Add(x, x) y = DepthToSpace<blocksize=2>(s) }",
    "SpaceToDepth": "(float[1,4,4,4] x) => (float[1,16,2,2] y) { s = Add(x, x) y = SpaceToDepth<blocksize=2>(s) }",
}


@pytest.mark.parametrize("arguments", [{}, {"enable_dpu": True, "calibrate_method": "MinMSE"}], ids=["cpu", "npu"])
@pytest.mark.parametrize("case", MORE)
def test_what_onnxruntime_has_no_handler_for_is_quantized_too(case: str, arguments: dict[str, Any]) -> None:
    source = model(f"t {MORE[case]}")
    result = quantized(source, **arguments)
    (node,) = nodes(result, case)
    for tensor in node.input:
        dequantizer(result, tensor)
    dequantizer(result, "y")
    assert_close(source, result, 25.0)


CLIP = "t (float[1, 3, 6, 6] x) => (float[1, 4, 4, 4] y) { h = Conv(x, w) c = Clip(h, low, high) y = Conv(c, v) }"


def clipped(reach: float, scale: float = 1.0) -> ModelProto:
    constants = {"w": weights(1, 4, 3, 3, 3, scale=scale), "v": weights(2, 4, 4, 1, 1), "low": -reach, "high": reach}
    return model(CLIP, constants)


@pytest.mark.parametrize("reach", [1.0, 2.0, 6.0])
@pytest.mark.parametrize("kind", [QuantType.QUInt8, QuantType.QInt8, QuantType.QUInt16])
def test_a_clip_of_symmetric_bounds_is_a_saturation(reach: float, kind: QuantType) -> None:
    source = clipped(reach, 4.0)
    eight_bits = {"AvoidSaturation": False}  # whatever this CPU can do
    result = quantized(source, activation_type=kind, weight_type=QuantType.QInt8, extra_options=eight_bits)
    assert not nodes(result, "Clip")
    assert_close(source, result, 25.0)


def test_a_clip_stays_where_codes_reach_further() -> None:
    source = clipped(1.0, 4.0)
    symmetric = quantized(source, activation_type=QuantType.QInt8, extra_options={"ActivationSymmetric": True})
    assert nodes(symmetric, "Clip"), "127 codes on one side, 128 on the other"
    wider = quantized(source, extra_options={"TensorQuantOverrides": {"c": [{"rmin": -2.0, "rmax": 2.0}]}})
    assert nodes(wider, "Clip")
