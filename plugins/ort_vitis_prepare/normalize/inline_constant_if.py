"""An If whose condition is a constant always takes the same branch: its nodes belong to the graph around it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import GraphProto, NodeProto, TensorProto, helper

from ort_vitis_plugin.api import Graph, Stage, attribute, rename_captured, transform

from .fold_constants import computed

if TYPE_CHECKING:
    from collections.abc import Mapping


def _constant_condition(graph: Graph, node: NodeProto) -> bool | None:
    value = computed(graph, node.input[0])
    return None if value is None or value.size != 1 else bool(value.reshape(-1)[0])


def _new_names(graph: Graph, node: NodeProto, body: GraphProto) -> dict[str, str]:
    """Tensors of the branch by their name outside: its outputs take the If's, the others the next free one."""
    made = [tensor.name for tensor in body.initializer]
    made += [name for inner in body.node for name in inner.output if name]
    names: dict[str, str] = {}
    for value, output in zip(body.output, node.output, strict=True):
        if value.name in made and value.name not in names:
            names[value.name] = output
    for name in made:
        names.setdefault(name, graph.unique(name))
    return names


def _move_in(graph: Graph, node: NodeProto, body: GraphProto, names: Mapping[str, str]) -> list[tuple[str, NodeProto]]:
    """Returns each node as it is here with the name that it had in the branch."""
    moves = []
    for tensor in body.initializer:
        constant = TensorProto()
        constant.CopyFrom(tensor)
        constant.name = names[tensor.name]
        graph.put_initializer(constant)
    for value in body.value_info:
        if value.name in names:
            kind = value.type.tensor_type
            shape = [dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None for dim in kind.shape.dim]
            graph.describe(names[value.name], kind.elem_type, shape if kind.HasField("shape") else None)
    for inner in body.node:
        moved = NodeProto()
        moved.CopyFrom(inner)
        moved.input[:] = [names.get(name, name) for name in inner.input]
        moved.output[:] = [names.get(name, name) for name in inner.output]
        moved.name = graph.unique(inner.name or f"{inner.op_type}_{next(filter(None, moved.output), '')}")
        rename_captured(moved, names)
        moves.append((inner.name, graph.add(moved)))
    for value, output in zip(body.output, node.output, strict=True):
        source = names.get(value.name, value.name)
        if source != output:
            graph.add(helper.make_node("Identity", [source], [output]))
    return moves


@transform("InlineConstantIf", stage=Stage.NORMALIZE, default=None)
def inline_constant_if(graph: Graph) -> int:
    """Replace an If with a constant condition by the branch that it takes."""
    count = 0
    waiting = list(graph.of_type("If"))
    while waiting:
        node = waiting.pop()
        condition = _constant_condition(graph, node)
        if condition is None:
            continue
        body: GraphProto = attribute(node, "then_branch" if condition else "else_branch")
        graph.remove(node)
        moves = _move_in(graph, node, body, _new_names(graph, node, body))
        waiting += [inner for _, inner in moves if inner.op_type == "If"]
        if node.name:
            graph.renames.node(node.name, *(inner.name for _, inner in moves))
        for old, inner in moves:
            if old and old != inner.name:
                graph.renames.node(old, inner.name)
        count += 1
    return count
