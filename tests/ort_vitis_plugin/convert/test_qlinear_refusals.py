"""What no operator on codes can say stays between its pairs, with the reason."""

# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from onnx import helper

from ort_vitis_plugin.testing import LEVELS, random_feeds, run_model
from tests.ort_vitis_plugin.convert.code_pairs import (
    I8,
    STEP,
    U8,
    Pairs,
    codes,
    converted,
    types,
)


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
