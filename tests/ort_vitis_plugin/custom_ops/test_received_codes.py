"""Codes that flow in are known by their constant scale; what is constant, has channels or blocks is none of them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto

from ort_vitis_plugin.custom_ops.received_codes import ReceivedCodes, received_codes
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import graph

SCALE, ZERO = np.float32(0.5), np.uint8(128)
OTHERS: dict[str, tuple[str, str, dict[str, object]]] = {
    "a weight": ("int8[2] x", "h = DequantizeLinear(c, s)", {"c": np.int8([1, 2]), "s": SCALE}),
    "channels": ("uint8[2, 2] x", "h = DequantizeLinear(x, s)", {"s": np.float32([1, 2])}),
    "blocks": ("int8[1, 2] x", "h = DequantizeLinear<block_size = 2>(x, s)", {"s": SCALE.reshape(1, 1)}),
    "sums of products": ("int32[2] x", "h = DequantizeLinear(x, s)", {"s": SCALE}),
    "a scale that is fed": ("uint8[2] x, float s", "h = DequantizeLinear(x, s)", {}),
    "a scale that callers may replace": ("uint8[2] x, float s", "h = DequantizeLinear(x, s)", {"s": SCALE}),
    "a zero point that is fed": ("uint8[2] x, uint8 z", "h = DequantizeLinear(x, s, z)", {"s": SCALE}),
    "a scale of nothing": ("uint8[2] x", "h = DequantizeLinear(x, s)", {"s": np.float32(0)}),
    "a float": ("float[2] x", "h = Relu(x)", {}),
}


def found(inputs: str, body: str, constants: dict[str, object]) -> ReceivedCodes | None:
    arrays = {name: np.asarray(value) for name, value in constants.items()}
    return received_codes(Graph(graph(f"t ({inputs}) => (float[n] h) {{ {body} }}", 21, arrays)), "h")


@pytest.mark.parametrize("shape", [(), (1,)])
@pytest.mark.parametrize("zero", [None, ZERO])
def test_what_flows_in_has_one_scale(zero: object, shape: tuple[int, ...]) -> None:
    constants: dict[str, object] = {"s": SCALE.reshape(shape)}
    constants |= {} if zero is None else {"z": ZERO.reshape(shape)}
    codes = found("uint8[2] x", f"h = DequantizeLinear({', '.join(('x', *constants))})", constants)
    assert codes is not None
    assert (codes.element_type, codes.scale, codes.zero_point) == (TensorProto.UINT8, 0.5, 0 if zero is None else 128)


@pytest.mark.parametrize("case", OTHERS)
def test_other_tensors_are_no_codes(case: str) -> None:
    assert found(*OTHERS[case]) is None


def test_what_another_tool_quantized_flows_too() -> None:
    body = "q = QuantizeLinear(x, s, z) h = DequantizeLinear(q, s, z)"
    assert found("float[2] x", body, {"s": SCALE, "z": ZERO}) is not None
