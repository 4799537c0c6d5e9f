"""Mutations: tensors pass nodes that change nothing."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from ort_vitis_plugin.graph import Graph

from .rewriting import (
    Mutation,
    Random,
    all_names,
    copied,
    floats,
    inferred,
    opset_of,
    replace_nodes,
    shape_of,
    types,
)

Passing = Callable[[GraphProto, str, str], Iterator[NodeProto]]


def _pass_inputs(
    model: ModelProto, random: Random, able: set[str] | None, share: float, passing: Passing
) -> ModelProto:
    """Some inputs, of those ``able`` names, come through nodes that change nothing."""
    nodes: list[NodeProto] = []
    taken = all_names(model.graph)
    for at, node in enumerate(model.graph.node):
        for number, name in enumerate(node.input):
            if name and (able is None or name in able) and random.random() < share:
                own = f"pass_{at}_{number}"
                while own in taken:
                    own += "_"
                made = list(passing(model.graph, name, own))
                if made:
                    node.input[number] = made[-1].output[0]
                    taken |= {output for each in made for output in each.output}
                    nodes += made
        nodes.append(node)
    replace_nodes(model.graph, nodes)
    return model


def insert_identities(model: ModelProto, random: Random) -> ModelProto:
    """Some inputs pass an Identity or two."""

    def passing(graph: GraphProto, name: str, own: str) -> Iterator[NodeProto]:
        for step in range(int(random.integers(3))):
            yield helper.make_node("Identity", [name], [f"{own}_{step}"])
            name = f"{own}_{step}"

    return _pass_inputs(copied(model), random, None, 0.5, passing)


def insert_cast_pairs(model: ModelProto, random: Random) -> ModelProto:
    """Some float tensors go to double and back, once or twice, or are cast to float."""
    model = inferred(model)

    def passing(graph: GraphProto, name: str, own: str) -> Iterator[NodeProto]:
        for step in range(int(random.integers(3))):
            yield helper.make_node("Cast", [name], [f"{own}_wide{step}"], to=TensorProto.DOUBLE)
            yield helper.make_node("Cast", [f"{own}_wide{step}"], [f"{own}_{step}"], to=TensorProto.FLOAT)
            name = f"{own}_{step}"
        if random.integers(2):
            yield helper.make_node("Cast", [name], [f"{own}_same"], to=TensorProto.FLOAT)

    return _pass_inputs(model, random, floats(model), 0.3, passing)


def insert_moves(model: ModelProto, random: Random) -> ModelProto:
    """Some float tensors are transposed and back, reshaped and back, or get an axis and lose it."""
    model = inferred(model)
    known = types(model)
    constants = {tensor.name: list(tensor.dims) for tensor in model.graph.initializer}
    opset = opset_of(model)

    def passing(graph: GraphProto, name: str, own: str) -> Iterator[NodeProto]:
        shape = constants.get(name, shape_of(known.get(name)))
        if not shape or 0 in shape:
            return
        way = int(random.integers(3))
        if way == 0:
            order = [int(axis) for axis in random.permutation(len(shape))]
            yield helper.make_node("Transpose", [name], [f"{own}_away"], perm=order)
            back = [order.index(axis) for axis in range(len(shape))]
            yield helper.make_node("Transpose", [f"{own}_away"], [own], perm=back)
        elif way == 1 and opset >= 5:
            graph.initializer.append(numpy_helper.from_array(np.array([-1]), f"{own}_flat"))
            graph.initializer.append(numpy_helper.from_array(np.array(shape), f"{own}_shape"))
            yield helper.make_node("Reshape", [name, f"{own}_flat"], [f"{own}_away"])
            yield helper.make_node("Reshape", [f"{own}_away", f"{own}_shape"], [own])
        elif opset >= 13:
            axis = int(random.integers(len(shape) + 1))
            graph.initializer.append(numpy_helper.from_array(np.array([axis]), f"{own}_axes"))
            yield helper.make_node("Unsqueeze", [name, f"{own}_axes"], [f"{own}_away"])
            yield helper.make_node("Squeeze", [f"{own}_away", f"{own}_axes"], [own])
        else:
            yield helper.make_node("Unsqueeze", [name], [f"{own}_away"], axes=[0])
            yield helper.make_node("Squeeze", [f"{own}_away"], [own], axes=[0])

    return _pass_inputs(model, random, floats(model), 0.25, passing)


def insert_dropouts(model: ModelProto, random: Random) -> ModelProto:
    """Some float tensors pass a Dropout that is not training."""
    model = inferred(model)
    opset = opset_of(model)
    if opset < 7:
        return model

    def passing(graph: GraphProto, name: str, own: str) -> Iterator[NodeProto]:
        outputs = [own, f"{own}_mask"][: int(random.integers(1, 3))]
        if opset < 12:
            yield helper.make_node("Dropout", [name], outputs, ratio=0.5)
            return
        graph.initializer.append(numpy_helper.from_array(np.float32(0.5), f"{own}_ratio"))
        graph.initializer.append(numpy_helper.from_array(np.array(False), f"{own}_training"))
        inputs = [
            [name],
            [name, f"{own}_ratio"],
            [name, "", f"{own}_training"],
            [name, f"{own}_ratio", f"{own}_training"],
        ]
        yield helper.make_node("Dropout", inputs[int(random.integers(4))], outputs)

    made = {name for node in model.graph.node for name in node.output}
    return _pass_inputs(model, random, floats(model) & (made | {v.name for v in model.graph.input}), 0.3, passing)


def pass_outputs(model: ModelProto, random: Random) -> ModelProto:
    """Outputs of the graph come out of an Identity; what else reads them reads the tensor before."""
    model = copied(model)
    graph = model.graph
    for value in graph.output:
        maker = next((node for node in graph.node if value.name in node.output), None)
        inside = {name for node in graph.node for name in Graph(_only(model, node), copy=False).reads(node)}
        if maker is None or (value.name in inside and not any(value.name in node.input for node in graph.node)):
            continue
        before = f"{value.name}_before"
        maker.output[:] = [before if name == value.name else name for name in maker.output]
        if random.integers(2):
            for node in graph.node:
                node.input[:] = [before if name == value.name else name for name in node.input]
        graph.node.insert(
            list(graph.node).index(maker) + 1,
            helper.make_node("Identity", [before], [value.name], f"last {value.name}"),
        )
    return model


def _only(model: ModelProto, node: NodeProto) -> ModelProto:
    only = ModelProto()
    only.graph.node.append(node)
    return only


PASSING: dict[str, Mutation] = {
    "identities": insert_identities,
    "casts": insert_cast_pairs,
    "moves": insert_moves,
    "dropouts": insert_dropouts,
    "output identities": pass_outputs,
}
