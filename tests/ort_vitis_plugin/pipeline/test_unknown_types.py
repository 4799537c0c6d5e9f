"""Outputs of foreign operators have the type that the caller says; others stay as they are."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest
from onnx import TensorProto

from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.pipeline.unknown_types import with_default_types
from ort_vitis_plugin.testing import graph, plain_context

FOREIGN = """<ir_version: 8, opset_import: ["" : 17, "nobody" : 1]>
t (float[2, 3] x) => (float[2, 3] y) { h = nobody.Unheard(x)  i = Relu(h)  y = Add(i, x) }"""


@pytest.mark.parametrize("kind", [TensorProto.FLOAT, TensorProto.FLOAT16])
def test_the_type_spreads(kind: int) -> None:
    found = with_default_types(Graph(graph(FOREIGN)), plain_context(DefaultTensorType=kind))
    assert [found.element_type(name) for name in "hi"] == [kind, kind]


def test_without_the_option_or_foreign_operators_nothing_changes() -> None:
    foreign, plain = Graph(graph(FOREIGN)), Graph(graph("t (float[2] x) => (float[2] y) { y = Relu(x) }"))
    assert with_default_types(foreign, plain_context()) is foreign
    assert foreign.element_type("h") == 0
    assert with_default_types(plain, plain_context(DefaultTensorType=TensorProto.FLOAT)) is plain
