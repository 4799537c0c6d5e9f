"""A Cast to a wider type and back changes nothing; neither does one to the type that the tensor has."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import TensorProto

from ort_vitis_plugin.api import Graph, Stage, attribute, transform

if TYPE_CHECKING:
    from onnx import NodeProto

FLOAT, DOUBLE = TensorProto.FLOAT, TensorProto.DOUBLE

# Types that hold every value of the key exactly.
HOLDS: dict[int, frozenset[int]] = {
    TensorProto.BFLOAT16: frozenset({FLOAT, DOUBLE}),
    TensorProto.FLOAT16: frozenset({FLOAT, DOUBLE}),
    TensorProto.FLOAT: frozenset({DOUBLE}),
    TensorProto.INT8: frozenset({TensorProto.INT16, TensorProto.INT32, TensorProto.INT64, FLOAT, DOUBLE}),
    TensorProto.UINT8: frozenset({TensorProto.INT16, TensorProto.INT32, TensorProto.INT64, FLOAT, DOUBLE}),
    TensorProto.INT16: frozenset({TensorProto.INT32, TensorProto.INT64, FLOAT, DOUBLE}),
    TensorProto.UINT16: frozenset({TensorProto.INT32, TensorProto.INT64, FLOAT, DOUBLE}),
    TensorProto.INT32: frozenset({TensorProto.INT64, DOUBLE}),
}


def _source(graph: Graph, node: NodeProto) -> str | None:
    """The tensor that the Cast gives back unchanged, if there is one."""
    target = attribute(node, "to")
    if graph.element_type(node.input[0]) == target:
        return node.input[0] or None
    first = graph.producer(node.input[0])
    if first is None or first.op_type != "Cast":
        return None
    wide = attribute(first, "to")
    restored = graph.element_type(first.input[0]) == target and wide in HOLDS.get(target, frozenset())
    return (first.input[0] or None) if restored else None


@transform("RemoveCasts", stage=Stage.NORMALIZE, default=None)
def remove_casts(graph: Graph) -> int:
    """Remove Casts that give a tensor back as it was."""
    count = 0
    for node in graph.of_type("Cast"):
        source = _source(graph, node)
        if source is None:
            continue
        first, before = graph.producer(node.input[0]), node.input[0]
        graph.replace_input(node, before, source)
        if not graph.bypass(node):
            graph.replace_input(node, source, before)
            continue
        count += 1
        if first is not None and before != source and not graph.consumers(before) and before not in graph.outputs:
            graph.remove(first)
    return count
