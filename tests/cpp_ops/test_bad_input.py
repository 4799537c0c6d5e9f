"""Wrong scales, axes and types end in a message that names the node and the value."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from ort_vitis_plugin import custom_ops
from ort_vitis_plugin.errors import ModelError, UnsupportedError

X = np.ones((2, 3, 4), np.float32)
CASES: dict[str, tuple[Any, Any, dict[str, int], str]] = {
    "zero scale": (0.0, np.int8(0), {}, r"scale\[0\] is 0(\.0)?; every scale must be a positive finite number"),
    "negative scale": (-0.5, np.int8(0), {}, r"scale\[0\] is -0.5; every scale must be a positive finite number"),
    "NaN scale": (np.nan, np.int8(0), {}, r"scale\[0\] is nan"),
    "infinite scale": (np.inf, np.int8(0), {}, r"scale\[0\] is inf"),
    "one bad scale": ([1.0, 1.0, -1.0], np.zeros(3, np.int8), {}, r"scale\[2\] is -1"),
    "wrong scale length": (
        [1.0, 1.0],
        np.zeros(2, np.int16),
        {"axis": 1},
        r"scale has shape \[2\] and the input has shape \[2,3,4\]; .* 3 values for axis 1",
    ),
    "axis too large": ([1.0, 1.0], np.zeros(2, np.int8), {"axis": 3}, r"axis 3 is out of range .* \[-3, 2\]"),
    "axis too small": ([1.0, 1.0], np.zeros(2, np.int8), {"axis": -4}, r"axis -4 is out of range .* \[-3, 2\]"),
    "zero points missing": ([1.0] * 3, np.zeros(2, np.int8), {}, "zero_point has 2 elements and scale has 3"),
    "no scale": (np.zeros(0), np.zeros(0, np.int8), {}, r"scale has shape \[0\]"),
}


@pytest.mark.parametrize("op_type", ["VitisQuantizeLinear", "VitisDequantizeLinear", "FixNeuron"])
@pytest.mark.parametrize("case", CASES)
def test_kernels_say_what_is_wrong(open_session: Any, one_node: Any, op_type: str, case: str) -> None:
    scale, zero_point, attributes, message = CASES[case]
    x = X.astype(zero_point.dtype) if op_type == "VitisDequantizeLinear" else X
    with pytest.raises(Exception, match=message) as caught:
        open_session(one_node(op_type, scale, zero_point, **attributes)).run(None, {"x": x})
    assert f"{op_type} node 'the_node'" in str(caught.value)


@pytest.mark.parametrize("case", CASES)
def test_the_reference_says_the_same(case: str) -> None:
    scale, zero_point, attributes, message = CASES[case]
    spaced = re.sub(r"\\\[2,3,4\\\]", r"\\[2, 3, 4\\]", message)
    for function in (custom_ops.quantize_linear, custom_ops.fix_neuron):
        with pytest.raises(ModelError, match=spaced):
            function(X, np.asarray(scale), zero_point, **attributes)
    with pytest.raises(ModelError, match=spaced):
        custom_ops.dequantize_linear(X.astype(zero_point.dtype), np.asarray(scale), zero_point, **attributes)


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64, np.bool_])
def test_unsupported_element_type(open_session: Any, one_node: Any, dtype: Any) -> None:
    with pytest.raises(Exception, match="the_node"):
        open_session(one_node("VitisQuantizeLinear", 1.0, dtype(0)))
    with pytest.raises(UnsupportedError, match=f"type {np.dtype(dtype)}"):
        custom_ops.quantize_linear(X, 1.0, dtype(0))
    with pytest.raises(UnsupportedError, match="'the_node' has a zero point of type"):
        custom_ops.add_functions(one_node("VitisQuantizeLinear", 1.0, dtype(0)))


@pytest.mark.parametrize("bit_width", [0, 33, -8, "eight", "", "8 "])
def test_bit_width(open_session: Any, one_node: Any, bit_width: int | str) -> None:
    with pytest.raises(Exception, match=f"'the_node': bit_width is '?{bit_width}"):
        open_session(one_node("FixNeuron", 1.0, np.int8(0), bit_width=bit_width))
    if bit_width != "8 ":
        with pytest.raises(ModelError, match="the_node"):
            custom_ops.add_functions(one_node("FixNeuron", 1.0, np.int8(0), bit_width=bit_width))


@pytest.mark.parametrize("op_type", ["VitisQuantizeLinear", "VitisDequantizeLinear", "FixNeuron"])
def test_an_axis_that_is_a_text(open_session: Any, one_node: Any, op_type: str) -> None:
    """No node falls back on the default axis where its own cannot be read."""
    model = one_node(op_type, [1.0] * 3, np.zeros(3, np.int8), axis="1")
    with pytest.raises(Exception, match=f"{op_type} node 'the_node': axis is '1'; it must be an integer"):
        open_session(model)
    with pytest.raises(ModelError, match=f"{op_type} node 'the_node': axis is b?'1'; it must be an integer"):
        custom_ops.add_functions(model)
