"""A grid says what codes stand for, as the quantize and dequantize nodes of onnxruntime compute it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto

from ort_vitis_plugin.convert.code_grid import Grid, constant_values, grid_behind, grid_of, sole_quantizer
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import graph, run_model

TEXT = """t (float[2,2] x) => (float[2,2] y) {
  q = QuantizeLinear<axis = 0>(x, s, z) y = DequantizeLinear<axis = 0>(q, s, z) }"""


def model(scale: list[float], zero: list[int], kind: type = np.int8) -> Graph:
    return Graph(graph(TEXT, 17, {"s": np.array(scale, np.float32), "z": np.array(zero, kind)}))


def test_values_are_those_of_onnxruntime() -> None:
    whole = model([0.5, 0.25], [3, -2])
    grid = grid_behind(whole, "y")
    assert grid is not None
    x = np.array([[1.3, -100], [0.1, 7]], np.float32)
    np.testing.assert_array_equal(grid.values(grid.codes(x)), run_model(whole.to_model(), {"x": x})["y"])


@pytest.mark.parametrize(("scale", "shift"), [([0.5, 2.0], True), ([0.5, 0.3], False)])
def test_powers_of_two_are_shifts(scale: list[float], shift: bool) -> None:
    whole = model(scale, [0, 0])
    grid = grid_of(whole, whole.producer("q"))
    assert grid is not None
    assert grid.is_shift is shift


def test_equal_codes_of_equal_grids() -> None:
    one = Grid(np.float32(0.5).reshape(()), np.array(0), TensorProto.INT8)
    assert one.is_same(Grid(np.float32(0.5).reshape(()), np.array(0), TensorProto.INT8))
    assert not one.is_same(Grid(np.float32(0.5).reshape(()), np.array(1), TensorProto.INT8))
    assert not one.is_same(Grid(np.float32(0.5).reshape(()), np.array(0), TensorProto.UINT8))
    assert not one.is_same(None)
    assert (one.code(100.0), one.code(-0.25)) == (127, 0)


def test_computed_parameters_make_no_grid() -> None:
    whole = Graph(
        graph("t (float[2] x, float s) => (int8[2] q) { q = QuantizeLinear(x, s, z) }", 17, {"z": np.int8(0)})
    )
    assert grid_of(whole, whole.producer("q")) is None
    assert grid_of(whole, None) is None


def test_constants_behind_codes_and_sole_readers() -> None:
    text = """t (float[2] x) => (float[2] y) {
      w = DequantizeLinear(c, s, z) h = Add(x, w) q = QuantizeLinear(h, s, z) y = DequantizeLinear(q, s, z) }"""
    whole = Graph(graph(text, 17, {"c": np.array([1, -4], np.int8), "s": np.float32(0.5), "z": np.int8(0)}))
    np.testing.assert_array_equal(constant_values(whole, "w"), [0.5, -2])
    assert constant_values(whole, "x") is None
    assert sole_quantizer(whole, "h") is whole.producer("q")
    assert sole_quantizer(whole, "w") is None


def test_a_quantize_node_without_a_scale_makes_no_grid() -> None:
    made = model([0.5], [0])
    node = next(made.of_type("QuantizeLinear"))
    del node.input[1:]
    assert grid_of(made, node) is None
