"""Operators that move codes move them without arithmetic."""

# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper

from ort_vitis_plugin.testing import LEVELS, random_feeds, run_model
from tests.ort_vitis_plugin.convert.code_pairs import (
    I8,
    STEP,
    U8,
    Pairs,
    check_codes,
    converted,
    types,
)

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
