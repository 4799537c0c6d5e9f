"""The kernels agree with ORT's own QuantizeLinear, and round-trip every pattern of the 16-bit floats."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from ort_vitis_plugin import custom_ops

INTEGERS = [np.uint8, np.int8, np.uint16, np.int16]


def random_floats(count: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.random.default_rng(5).integers(0, 2**32, count, np.uint32).view(np.float32)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("scale", [1.0, 0.1, 2.0**-7, 3e-5, 1e30])
def test_quantize_as_ort_does(open_session: Any, dtype: Any, scale: float) -> None:
    info = np.iinfo(dtype)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    for zero_point in (info.min, info.max // 3, info.max):
        nodes = [
            helper.make_node("VitisQuantizeLinear", ["x", "s", "z"], ["ours"], domain=custom_ops.VAI_DOMAIN),
            helper.make_node("QuantizeLinear", ["x", "s", "z"], ["theirs"]),
            helper.make_node("VitisDequantizeLinear", ["ours", "s", "z"], ["back"], domain=custom_ops.VAI_DOMAIN),
            helper.make_node("DequantizeLinear", ["theirs", "s", "z"], ["their_back"]),
            helper.make_node("FixNeuron", ["x", "s", "z"], ["fix"], domain=custom_ops.VAI_DOMAIN, bit_width=info.bits),
        ]
        outputs = {"ours": kind, "theirs": kind} | dict.fromkeys(("back", "their_back", "fix"), TensorProto.FLOAT)
        graph = helper.make_graph(
            nodes,
            "both",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N"])],
            [helper.make_tensor_value_info(name, kind, ["N"]) for name, kind in outputs.items()],
            [helper.make_tensor("s", TensorProto.FLOAT, [], [scale]), helper.make_tensor("z", kind, [], [zero_point])],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        x = np.concatenate([random_floats(100_000), (np.arange(-70_000, 70_000) / 2 * scale).astype(np.float32)])
        ours, theirs, back, their_back, fixed = open_session(model).run(None, {"x": x})
        np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(back.view(np.uint32), their_back.view(np.uint32))
        np.testing.assert_array_equal(fixed.view(np.uint32), their_back.view(np.uint32))


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)], ids=str)
def test_every_pattern_of_a_16_bit_float(open_session: Any, dtype: Any) -> None:
    """As an initializer, through DQ and back through Q."""
    patterns = np.arange(65536, dtype=np.uint16)
    kind = helper.np_dtype_to_tensor_dtype(dtype)
    nodes = [
        helper.make_node("VitisDequantizeLinear", ["c", "s", "z"], ["y"], domain=custom_ops.VAI_DOMAIN),
        helper.make_node("VitisQuantizeLinear", ["y", "s", "z"], ["q"], domain=custom_ops.VAI_DOMAIN),
        helper.make_node("VitisDequantizeLinear", ["q", "s", "z"], ["again"], domain=custom_ops.VAI_DOMAIN),
    ]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [65536]) for name in ("y", "again")]
    initializers = [
        helper.make_tensor("c", kind, [65536], patterns.tobytes(), raw=True),
        helper.make_tensor("s", TensorProto.FLOAT, [], [1.0]),
        helper.make_tensor("z", kind, [], b"\0\0", raw=True),
    ]
    model = helper.make_model(
        helper.make_graph(nodes, "patterns", [], outputs, initializers),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    y, again = open_session(model).run(None, {})
    want = patterns.view(dtype).astype(np.float32)
    np.testing.assert_array_equal(y, want)
    np.testing.assert_array_equal(np.signbit(y), np.signbit(want))
    largest = np.float32(65504.0) if dtype == np.float16 else np.float32(3.38953139e38)
    np.testing.assert_array_equal(again, np.clip(want, -largest, largest))


def test_scale_is_honoured_for_16_bit_floats(open_session: Any, one_node: Any) -> None:
    """AMD's CPU library ignores it for float16."""
    x = np.array([1.0, -2.5, 1000.3], np.float32)
    for dtype in (np.float16, ml_dtypes.bfloat16):
        model: onnx.ModelProto = one_node("VitisQuantizeLinear", 0.5, np.array(1.5, dtype))
        model.graph.node.append(
            helper.make_node("VitisDequantizeLinear", ["y", "s", "z"], ["back"], domain=custom_ops.VAI_DOMAIN)
        )
        model.graph.output[0].CopyFrom(helper.make_tensor_value_info("back", TensorProto.FLOAT, None))
        (back,) = open_session(model).run(None, {"x": x})
        q = ((x / np.float32(0.5)) + np.float32(1.5)).astype(dtype)
        np.testing.assert_array_equal(back, (q.astype(np.float32) - np.float32(1.5)) * np.float32(0.5))
