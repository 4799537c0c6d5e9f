"""A name wins over a pattern, a pattern over an op type, and what moves integers goes on with their type."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest
from onnx import ModelProto

from ort_vitis_plugin.errors import UnknownNameError
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.selection.node_types import NodeTypes
from ort_vitis_plugin.testing import graph, plain_context


def model() -> ModelProto:
    return graph(
        """t (float[4, 4] x) => (float[4, 4] y) {
            [first] a = MatMul(x, x)  [moved] b = Transpose(a)  [second] c = MatMul(b, b)  [third] y = Add(c, c) }"""
    )


def types(**mixed: object) -> dict[str, str]:
    """Names of the activations' types by node."""
    edited = Graph(model())
    found = NodeTypes(edited, plain_context(MixedTypes=mixed).settings)
    found.check()
    return {node.name: str(found.of(node).activation) for node in edited}


def test_names_patterns_and_op_types() -> None:
    base = types()["third"]
    assert set(types().values()) == {base}
    assert types(MatMul="QInt16") == {"first": "QInt16", "moved": "QInt16", "second": "QInt16", "third": base}
    assert types(**{"MatMul": "QInt16", "s*": "QBFloat16"})["second"] == "QBFloat16"
    assert types(**{"s*": "QBFloat16", "second": "QInt16"})["second"] == "QInt16"


def test_what_moves_floats_does_not_go_on_with_them() -> None:
    base = types()["moved"]
    assert types(first="QBFloat16")["moved"] == base
    assert types(first="QInt16")["moved"] == "QInt16"


@pytest.mark.parametrize("key", ["fist", "f?", "op:Cov"])
def test_an_entry_without_a_node_is_told(key: str) -> None:
    with pytest.raises(UnknownNameError, match="MixedTypes"):
        types(**{key: "QInt16"})
