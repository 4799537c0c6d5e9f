"""Two models of codes agree when they do for each of the 256."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from ort_vitis_plugin.convert.code_grid import Grid
from ort_vitis_plugin.convert.every_code import agree, between_pairs, code_model

GRID = Grid(np.float32(0.5).reshape(()), np.array(0), TensorProto.INT8)


def made(*nodes: object, **constants: np.ndarray) -> object:
    body, parameters = between_pairs(list(nodes), GRID, GRID)
    return code_model(body, parameters | constants, GRID, GRID, 17)


def test_a_model_agrees_with_itself_and_with_its_like() -> None:
    relu = made(helper.make_node("Relu", ["dequantized"], ["result"]))
    clip = made(helper.make_node("Clip", ["dequantized", "low"], ["result"]), low=np.zeros((), np.float32))
    assert agree(relu, relu, GRID)
    assert agree(relu, clip, GRID)


def test_one_code_that_differs_is_found() -> None:
    """Only the code 127, 63.5, is cut."""
    plain = made(helper.make_node("Identity", ["dequantized"], ["result"]))
    cut = made(helper.make_node("Clip", ["dequantized", "", "high"], ["result"]), high=np.float32(63.0).reshape(()))
    assert not agree(plain, cut, GRID)
