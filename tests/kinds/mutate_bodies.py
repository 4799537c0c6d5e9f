"""Mutations: nodes move into the bodies of If and Loop."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
from onnx import (
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    helper,
    numpy_helper,
)

from ort_vitis_plugin.graph import captured_names

from .rewriting import (
    Mutation,
    Random,
    free_constants,
    fresh,
    inferred,
    is_plain,
    named,
    opset_of,
    replace_nodes,
    types,
)


def _body(nodes: list[NodeProto], model: ModelProto, outputs: list[str], name: str) -> GraphProto:
    """A branch that computes copies of ``outputs`` by ``nodes``, under names of its own."""
    known = types(model)
    made = {output: f"{output}_{name}" for node in nodes for output in node.output if output}
    copies = []
    for node in nodes:
        inner = NodeProto()
        inner.CopyFrom(node)
        inner.input[:] = [made.get(each, each) for each in node.input]
        inner.output[:] = [made.get(each, each) for each in node.output]
        copies.append(inner)
    return helper.make_graph(copies, name, [], [named(known[output], made[output]) for output in outputs])


def _never(model: ModelProto, outputs: list[str], name: str = "never") -> GraphProto:
    known = types(model)
    nodes, ends = [], []
    for output in outputs:
        kind = known[output].type.tensor_type.elem_type
        zero = numpy_helper.from_array(np.zeros(1, helper.tensor_dtype_to_np_dtype(kind)))
        nodes.append(helper.make_node("Constant", [], [f"{output}_{name}"], value=zero))
        ends.append(helper.make_tensor_value_info(f"{output}_{name}", kind, None))
    return helper.make_graph(nodes, name, [], ends)


def _run_of(model: ModelProto, random: Random) -> tuple[int, list[NodeProto], list[str]] | None:
    """Up to three nodes in a row, where they start, and what others read of theirs."""
    graph, known = model.graph, types(model)
    count = int(random.integers(1, 4))
    able = [at for at, node in enumerate(graph.node) if is_plain(node)]
    if not able:
        return None
    start = able[int(random.integers(len(able)))]
    nodes = [node for node in graph.node[start : start + count] if is_plain(node)]
    nodes = nodes[:1] if len(nodes) < count else nodes
    made = [output for node in nodes for output in node.output if output]
    inside = {id(node) for node in nodes}
    read = {value.name for value in graph.output}
    for node in graph.node:
        if id(node) not in inside:
            read |= set(node.input) | captured_names(node)
    outputs = [output for output in made if output in read]
    if not outputs or any(output not in known or not known[output].type.HasField("tensor_type") for output in made):
        return None
    return start, nodes, outputs


def _replace_run(
    model: ModelProto, start: int, nodes: list[NodeProto], by: list[NodeProto], outputs: list[str]
) -> None:
    graph = model.graph
    replace_nodes(graph, [*graph.node[:start], *by, *graph.node[start + len(nodes) :]])
    for value in graph.value_info:
        if value.name in outputs:
            value.type.tensor_type.ClearField("shape")


def _if(condition: str, value: bool, taken: GraphProto, never: GraphProto, outputs: list[str]) -> NodeProto:
    branches = (taken, never) if value else (never, taken)
    return helper.make_node("If", [condition], outputs, then_branch=branches[0], else_branch=branches[1])


def wrap_in_if(model: ModelProto, random: Random) -> ModelProto:
    """Some nodes in a row are the branch that an If with a constant condition takes; constants may move in."""
    model = inferred(model)
    found = _run_of(model, random)
    if found is None:
        return model
    start, nodes, outputs = found
    graph = model.graph
    value = bool(random.integers(2))
    condition = fresh(graph, "always")
    taken = _body(nodes, model, outputs, "taken")
    if random.integers(2):
        free = {tensor.name: tensor for tensor in graph.initializer if tensor.name in free_constants(graph)}
        for name in {name for node in nodes for name in node.input if name in free}:
            tensor = taken.initializer.add()
            tensor.CopyFrom(free[name])
            tensor.name = f"{name}_moved"
            for node in taken.node:
                node.input[:] = [tensor.name if each == name else each for each in node.input]
    by = [_if(condition, value, taken, _never(model, outputs), outputs)]
    way = int(random.integers(4))
    array = numpy_helper.from_array(np.array(value if way < 3 else [value]), condition)
    if way == 0:
        graph.initializer.append(array)
    elif way == 1:
        by.insert(0, helper.make_node("Constant", [], [condition], value=array))
    elif way == 2:
        graph.initializer.append(numpy_helper.from_array(np.array(not value), f"{condition}_not"))
        by.insert(0, helper.make_node("Not", [f"{condition}_not"], [condition]))
    else:
        graph.initializer.append(array)
    _replace_run(model, start, nodes, by, outputs)
    return model


def nest_ifs(model: ModelProto, random: Random) -> ModelProto:
    """Some nodes in a row are in an If within an If, both with constant conditions."""
    model = inferred(model)
    found = _run_of(model, random)
    if found is None:
        return model
    start, nodes, outputs = found
    condition = fresh(model.graph, "always")
    model.graph.initializer.append(numpy_helper.from_array(np.array(True), condition))
    inner = _if(condition, True, _body(nodes, model, outputs, "inner"), _never(model, outputs), outputs)
    taken = _body([inner], model, outputs, "outer")
    by = [_if(condition, True, taken, _never(model, outputs, "outer_never"), outputs)]
    _replace_run(model, start, nodes, by, outputs)
    return model


def wrap_in_computed_if(model: ModelProto, random: Random) -> ModelProto:
    """Some nodes in a row are in the branch that an If takes whatever the input: its condition is computed."""
    model = inferred(model)
    found = _run_of(model, random)
    able = [v for v in model.graph.input if v.type.tensor_type.elem_type == TensorProto.FLOAT]
    if found is None or not able:
        return model
    start, nodes, outputs = found
    own = fresh(model.graph, "computed")
    model.graph.initializer.append(numpy_helper.from_array(np.array(-1), f"{own}_low"))
    by = [
        helper.make_node("Size", [able[0].name], [f"{own}_size"]),
        helper.make_node("Greater", [f"{own}_size", f"{own}_low"], [own]),
        _if(own, True, _body(nodes, model, outputs, "taken"), _never(model, outputs), outputs),
    ]
    _replace_run(model, start, nodes, by, outputs)
    return model


def wrap_in_loop(model: ModelProto, random: Random) -> ModelProto:
    """Some nodes in a row are the body of a Loop of one trip; what it hands out it does not carry."""
    model = inferred(model)
    found = _run_of(model, random)
    if found is None or opset_of(model) < 11:
        return model
    start, nodes, outputs = found
    own = fresh(model.graph, "loop")
    graph = model.graph
    graph.initializer.append(numpy_helper.from_array(np.array(1), f"{own}_trips"))
    graph.initializer.append(numpy_helper.from_array(np.array(True), f"{own}_on"))
    body = _body(nodes, model, outputs, "once")
    body.input.append(helper.make_tensor_value_info(f"{own}_trip", TensorProto.INT64, []))
    body.input.append(helper.make_tensor_value_info(f"{own}_in", TensorProto.BOOL, []))
    body.node.append(helper.make_node("Identity", [f"{own}_in"], [f"{own}_out"]))
    body.output.insert(0, helper.make_tensor_value_info(f"{own}_out", TensorProto.BOOL, []))
    by = [helper.make_node("Loop", [f"{own}_trips", f"{own}_on"], [f"{name}_rows" for name in outputs], body=body)]
    opset = opset_of(model)
    for name in outputs:
        if opset >= 13:
            axes = f"{own}_{name}_axes"
            graph.initializer.append(numpy_helper.from_array(np.array([0]), axes))
            by.append(helper.make_node("Squeeze", [f"{name}_rows", axes], [name]))
        else:
            by.append(helper.make_node("Squeeze", [f"{name}_rows"], [name], axes=[0]))
    _replace_run(model, start, nodes, by, outputs)
    return model


BODIES: dict[str, Mutation] = {
    "if": wrap_in_if,
    "nested if": nest_ifs,
}
LIVE_BODIES: dict[str, Mutation] = {"computed if": wrap_in_computed_if, "loop": wrap_in_loop}
