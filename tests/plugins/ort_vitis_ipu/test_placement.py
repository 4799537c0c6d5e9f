"""The forecast: nothing against these nodes; and why those will not run on the NPU."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, shape_inference

from ort_vitis_ipu.placement import placement
from ort_vitis_plugin.graph import Graph

IMAGE = (1, 3, 32, 32)
Shape = tuple[int | str, ...]


def forecast(
    op_type: str,
    shape: Shape = IMAGE,
    *constants: tuple[int, ...],
    more: int = 0,
    like: Shape = (3,),
    element_type: int = TensorProto.FLOAT,
    domain: str = "",
    **attributes: Any,
) -> str | None:
    """The reason for one node that reads x, constants of these shapes, and ``more`` tensors of the shape ``like``."""
    dtype = np.int64 if op_type in ("Pad", "Reshape") else np.float32
    arrays = [numpy_helper.from_array(np.zeros(dims, dtype), f"c{number}") for number, dims in enumerate(constants)]
    others = [f"r{number}" for number in range(more)]
    node = helper.make_node(op_type, ["x", *(a.name for a in arrays), *others], ["y"], domain=domain, **attributes)
    inputs = [helper.make_tensor_value_info("x", element_type, shape)]
    inputs += [helper.make_tensor_value_info(name, element_type, like) for name in others]
    built = helper.make_graph([node], "g", inputs, [helper.make_empty_tensor_value_info("y")], arrays)
    model = helper.make_model(
        built, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    )
    edited = Graph(shape_inference.infer_shapes(model, data_prop=True))
    return placement(edited, next(iter(edited)))


TAKEN: dict[str, str | None] = {
    "convolution": forecast("Conv", IMAGE, (4, 3, 3, 3), pads=[1, 1, 1, 1], strides=[2, 2]),
    "largest window": forecast("Conv", IMAGE, (4, 3, 16, 16), strides=[8, 8]),
    "transposed convolution": forecast("ConvTranspose", IMAGE, (3, 4, 2, 2), strides=[2, 2]),
    "maximum": forecast("MaxPool", kernel_shape=[2, 2], strides=[2, 2]),
    "average": forecast("AveragePool", kernel_shape=[3, 3]),
    "padded average that counts the padding": forecast(
        "AveragePool", kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1
    ),
    "global average": forecast("GlobalAveragePool", (1, 3, 7, 7)),
    "HardSigmoid": forecast("HardSigmoid", alpha=1 / 6),
    "a matrix of any height": forecast("MatMul", (5, 8), (8, 4)),
    "batch norm": forecast("BatchNormalization", IMAGE, (3,), (3,), (3,), (3,)),
}

LEFT_TO_THE_CPU: dict[str, tuple[str | None, str]] = {
    "operator": (forecast("Erf"), "has no Erf"),
    "domain": (forecast("Gelu", domain="com.microsoft"), "com.microsoft"),
    "integers": (forecast("Abs", element_type=TensorProto.INT64), "has no Abs"),
    "integer data": (forecast("Relu", element_type=TensorProto.INT32), "int32"),
    "batch": (forecast("Relu", (8, 3, 32, 32)), "batch of 8"),
    "dynamic batch": (forecast("Relu", ("N", 3, 32, 32)), r"dynamic shape: x is \[N, 3, 32, 32\]"),
    "formula": (forecast("Relu", ("N", 3, "floor(h/2 - 1/2) + 1", "w + 1")), r"x is \[N, 3, \?, \?\]"),
    "unknown shape": (forecast("Reshape", IMAGE, more=1), "the shape of y is unknown|dynamic"),
    "rank": (forecast("Relu", (1, 2, 3, 8, 8)), "rank 5"),
    "one-dimensional window": (forecast("MaxPool", (1, 3, 32), kernel_shape=[3]), "rank 3"),
    "window": (forecast("Conv", IMAGE, (4, 3, 17, 1)), r"kernel \[17, 1\].*at most 16"),
    "stride": (forecast("Conv", IMAGE, (4, 3, 1, 1), strides=[1, 9]), r"strides \[1, 9\].*at most 8"),
    "output channels": (forecast("Conv", IMAGE, (8193, 3, 1, 1)), "8193 output channels"),
    "dilation": (forecast("Conv", (1, 4097, 8, 8), (1, 4097, 3, 3), dilations=[2, 2]), "dilation 2 times 4097"),
    "computed weights": (forecast("Conv", more=1, like=(4, 3, 3, 3)), "r0 are computed at run time"),
    "large average": (forecast("GlobalAveragePool"), "covers 1024 values"),
    "border of an average": (
        forecast("AveragePool", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        "count_include_pad=0",
    ),
    "border of an automatic average": (
        forecast("AveragePool", kernel_shape=[3, 3], auto_pad="SAME_UPPER"),
        "count_include_pad=0",
    ),
    "another HardSigmoid": (forecast("HardSigmoid"), "x / 6 [+] 0.5"),
    "edge padding": (forecast("Pad", IMAGE, (8,), mode="edge"), "mode edge"),
    "computed batch norm": (forecast("BatchNormalization", IMAGE, (3,), (3,), (3,), more=1), "computed at run time"),
}


@pytest.mark.parametrize("case", TAKEN)
def test_nothing_against(case: str) -> None:
    assert TAKEN[case] is None


@pytest.mark.parametrize("case", LEFT_TO_THE_CPU)
def test_says_why(case: str) -> None:
    found, reason = LEFT_TO_THE_CPU[case]
    assert found is not None
    assert re.search(reason, found), found


def test_nodes_that_only_simulate_are_not_placed() -> None:
    node = helper.make_node("Erf", ["x"], ["y"], name="n")
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, IMAGE)
    edited = Graph(
        helper.make_model(helper.make_graph([node], "g", [value], [helper.make_empty_tensor_value_info("y")]))
    )
    edited.device_nodes.add("n")
    assert placement(edited, next(iter(edited))) is None
