"""Attributes have the caller's default, and Constant nodes have a value in each spelling."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper, numpy_helper

from ort_vitis_plugin.graph.nodes import attribute, constant_value, has_input

ARRAY = np.array([[1, 2]], np.int8)


@pytest.mark.parametrize(
    ("attributes", "value"),
    [
        ({"value": numpy_helper.from_array(ARRAY)}, ARRAY),
        ({"value_float": 0.5}, np.float32(0.5)),
        ({"value_floats": [0.5, 1.0]}, np.array([0.5, 1], np.float32)),
        ({"value_int": 3}, np.int64(3)),
        ({"value_ints": [3, 4]}, np.array([3, 4])),
        ({"value_string": "text"}, None),
    ],
)
def test_constants(attributes: dict, value: np.ndarray | None) -> None:
    found = constant_value(helper.make_node("Constant", [], ["c"], **attributes))
    if value is None:
        assert found is None
    else:
        assert found is not None
        assert found.dtype == np.asarray(value).dtype
        np.testing.assert_array_equal(found, value)


def test_attributes() -> None:
    node = helper.make_node("LeakyRelu", ["x"], ["y"], alpha=0.5)
    assert attribute(node, "alpha", 0.01) == 0.5
    assert attribute(node, "beta", 0.01) == 0.01
    assert attribute(node, "beta") is None


@pytest.mark.parametrize(("inputs", "found"), [(["x"], False), (["x", ""], False), (["x", "w"], True)])
def test_an_optional_input_may_be_missing_or_empty(inputs: list[str], found: bool) -> None:
    assert has_input(helper.make_node("Op", inputs, ["y"]), 1) is found
