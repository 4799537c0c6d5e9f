"""input_nodes and output_nodes act by reachability: what is needed in between, or lies beside, is not left float."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import onnx
import pytest

from ort_vitis_plugin.errors import UnknownNameError
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.selection.requested_nodes import select
from ort_vitis_plugin.testing import graph, plain_context

TEXT = """t (float[2] x, float[2] z) => (float[2] y, float[2] u) {
    [a] h = Relu(x)  [b] i = Abs(h)  [beside] k = Neg(z)  [c] y = Add(i, k)  [d] u = Exp(i) }"""


def left(**options: object) -> dict[str, str]:
    call = plain_context(**options)
    select(Graph(graph(TEXT)), call)
    return dict(call.ledger.excluded)


def test_before_and_after() -> None:
    assert left(InputNodes=["b"]) == {"a": "before input_nodes"}
    assert left(InputNodes=["c"]) == dict.fromkeys(("a", "b", "beside"), "before input_nodes")
    assert left(OutputNodes=["b"]) == dict.fromkeys(("c", "d"), "after output_nodes")
    assert left(OutputNodes=["b", "c"]) == {"d": "after output_nodes"}


def test_tensors_stand_for_nodes() -> None:
    assert left(InputNodes=["i"]) == left(InputNodes=["c", "d"])
    assert left(OutputNodes=["y"]) == left(OutputNodes=["c"])
    assert left(InputNodes=["x"]) == {}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"InputNodes": ["besides"]}, "input_nodes: the model has no node or tensor 'besides'; did you mean beside"),
        ({"nodes_to_exclude": ("besides",)}, "nodes_to_exclude: the model has no node 'besides'; did you mean beside"),
        ({"op_types": ("Relo",)}, "there is no op type 'Relo'; did you mean Relu"),
    ],
)
def test_unknown_names_are_told_with_the_nearest(options: dict[str, object], text: str) -> None:
    with pytest.raises(UnknownNameError, match=text.replace("?", "")):
        left(**options)


def test_op_types_whose_schemas_come_later_are_known() -> None:
    left()
    schema = onnx.defs.OpSchema("ComesLater", "some.domain", 1)
    onnx.defs.register_schema(schema)
    try:
        assert left(op_types=("Relu", "ComesLater")) == {}
    finally:
        onnx.defs.deregister_schema(schema.name, 1, schema.domain)
