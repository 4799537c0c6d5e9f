"""value = (codes - zero_point) * scale, for one scale, for channels and for blocks, as onnxruntime has it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from ort_vitis_plugin.custom_ops.stored_codes import holds_constant, stored_codes
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import graph, run_model

CODES = np.arange(-12, 12, dtype=np.int8).reshape(4, 6)
CASES = {
    "one scale": ({"s": np.float32(0.5), "z": np.int8(3)}, "", None),
    "a list of one": ({"s": np.float32([0.5]), "z": np.int8([3])}, "", None),
    "rows": ({"s": np.float32([1, 2, 3, 4]), "z": np.int8([0, 1, 2, 3])}, "<axis = 0>", 0),
    "columns from behind": ({"s": np.arange(1, 7, dtype=np.float32), "z": np.zeros(6, np.int8)}, "<axis = -1>", 1),
    "blocks": (
        {"s": np.arange(1, 13, dtype=np.float32).reshape(4, 3), "z": np.ones((4, 3), np.int8)},
        "<axis = 1, block_size = 2>",
        1,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_values_are_those_of_onnxruntime(case: str) -> None:
    parameters, attributes, axis = CASES[case]
    text = f"t (float[4, 6] x) => (float[4, 6] y) {{ w = DequantizeLinear{attributes}(c, s, z)  y = Add(x, w) }}"
    model = graph(text, 21, {"c": CODES, **{name: np.asarray(each) for name, each in parameters.items()}})
    found = stored_codes(Graph(model), "w")
    assert found is not None
    assert found.axis == axis
    np.testing.assert_array_equal(found.value(), run_model(model, {"x": np.zeros((4, 6), np.float32)})["y"])


@pytest.mark.parametrize("kind", ["FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "INT32", "INT16", "UINT4"])
def test_codes_of_other_types_keep_their_fractions_and_digits(kind: str) -> None:
    element_type = TensorProto.DataType.Value(kind)
    held = {"INT32": 2**24 + 1, "INT16": 321}.get(kind, 1 if kind == "UINT4" else 0.625)
    model = graph("t (float[2] x) => (float[2] y) { w = DequantizeLinear(c, s) y = Add(x, w) }", 21)
    model.graph.initializer.extend(
        [helper.make_tensor("c", element_type, [2], [held, 0]), helper.make_tensor("s", TensorProto.FLOAT, [], [2])]
    )
    found = stored_codes(Graph(model), "w")
    assert found is not None
    np.testing.assert_array_equal(found.value(), np.float32([held, 0]) * 2)


@pytest.mark.parametrize(
    "text",
    [
        "t (int8[4, 6] c) => (float[4, 6] w) { w = DequantizeLinear(c, s) }",
        "t (float[4, 6] x) => (float[4, 6] w) { w = Relu(x) }",
    ],
)
def test_what_is_computed_is_not_stored(text: str) -> None:
    found = Graph(graph(text, 21, {"s": np.float32(0.5).reshape(())}))
    assert stored_codes(found, "w") is None
    assert not holds_constant(found.model.graph.node[0], found.is_constant)


def test_what_decodes_stored_codes_holds_a_constant() -> None:
    text = "t (float[4, 6] x) => (float[4, 6] y) { w = DequantizeLinear(c, s) y = Add(x, w) }"
    found = Graph(graph(text, 21, {"c": CODES, "s": np.float32(0.5).reshape(())}))
    assert [holds_constant(node, found.is_constant) for node in found] == [True, False]
