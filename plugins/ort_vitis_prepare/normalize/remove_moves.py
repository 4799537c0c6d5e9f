"""What moves data away and back changes nothing: two Transposes, an Unsqueeze and its Squeeze, a Reshape back."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.api import RESHAPES, Graph, Stage, attribute, transform

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnx import NodeProto

# All of these keep the order of the elements.
LONGEST = 8


def _upwards(graph: Graph, node: NodeProto, *op_types: str) -> Iterator[NodeProto]:
    """The node and those of the same kind before it, as far as the request names no tensor between them."""
    for _ in range(LONGEST):
        yield node
        before = graph.producer(node.input[0])
        if before is None or before.op_type not in op_types or {before.name, node.input[0]} & graph.kept:
            return
        node = before


def _restored(graph: Graph, node: NodeProto) -> str | None:
    """The tensor that the node gives back as it was, if there is one."""
    if node.op_type == "Transpose":
        order: list[int] | None = None
        for step in _upwards(graph, node, "Transpose"):
            shape = graph.shape(step.input[0])
            turned = attribute(step, "perm") or (None if shape is None else list(reversed(range(len(shape)))))
            if turned is None:
                return None
            order = list(turned) if order is None else [turned[axis] for axis in order]
            if order == sorted(order):
                return str(step.input[0])
        return None
    shape = graph.shape(node.output[0])
    for step in _upwards(graph, node, *RESHAPES) if shape is not None and None not in shape else ():
        if graph.shape(step.input[0]) == shape:
            return str(step.input[0])
    return None


def _remove(graph: Graph, node: NodeProto, source: str) -> bool:
    before = node.input[0]
    graph.replace_input(node, before, source)
    if not graph.bypass(node):
        graph.replace_input(node, source, before)
        return False
    while before != source and not graph.consumers(before) and before not in graph.outputs:
        idle = graph.producer(before)
        if idle is None:
            break
        before = idle.input[0]
        graph.remove(idle)
    return True


@transform("RemoveMoves", stage=Stage.NORMALIZE, default=None)
def remove_moves(graph: Graph) -> int:
    """Remove Transposes and Reshapes (Squeeze, Unsqueeze, Flatten) that give a tensor back as it was."""
    count = 0
    for node in graph.of_type("Transpose", *RESHAPES):
        source = _restored(graph, node)
        count += source is not None and _remove(graph, node, source)
    return count
