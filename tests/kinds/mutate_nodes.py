"""Mutations: nodes in another order, nobody's nodes, the same operation spelled differently."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, helper, numpy_helper

from ort_vitis_plugin.graph import Graph, attribute

from .rewriting import (
    Mutation,
    Random,
    copied,
    floats,
    free_constants,
    inferred,
    named,
    opset_of,
    replace_nodes,
)


def reorder(model: ModelProto, random: Random) -> ModelProto:
    """Nodes come in another order that is topological too."""
    model = copied(model)
    graph = Graph(model)
    made = {name: number for number, node in enumerate(model.graph.node) for name in node.output if name}
    needs = [{made[name] for name in graph.reads(node) if name in made} for node in model.graph.node]
    order: list[int] = []
    while len(order) < len(needs):
        ready = [at for at in range(len(needs)) if at not in order and needs[at] <= set(order)]
        order.append(int(random.choice(ready)))
    nodes = [NodeProto() for _ in order]
    for node, at in zip(nodes, order, strict=True):
        node.CopyFrom(model.graph.node[at])
    replace_nodes(model.graph, nodes)
    return model


def split_matmuls(model: ModelProto, random: Random) -> ModelProto:
    """A Gemm without factors becomes MatMul and Add."""
    model = copied(model)
    vectors = {tensor.name for tensor in model.graph.initializer if len(tensor.dims) == 1}
    nodes: list[NodeProto] = []
    for number, node in enumerate(model.graph.node):
        plain = node.op_type == "Gemm" and not node.attribute and len(node.input) == 3 and node.input[2] in vectors
        if not plain or random.random() < 0.3:
            nodes.append(node)
            continue
        product = f"product_{number}"
        nodes.append(helper.make_node("MatMul", list(node.input)[:2], [product], node.name))
        nodes.append(helper.make_node("Add", [product, node.input[2]], list(node.output)))
    replace_nodes(model.graph, nodes)
    return model


def turn_weights(model: ModelProto, random: Random) -> ModelProto:
    """Gemm reads its constant weight the other way round: transB is turned."""
    model = copied(model)
    graph = model.graph
    free = {tensor.name: tensor for tensor in graph.initializer if tensor.name in free_constants(graph)}
    for number, node in enumerate(graph.node):
        if node.op_type != "Gemm" or node.input[1] not in free or random.random() < 0.3:
            continue
        turned = not attribute(node, "transB", 0)
        array = numpy_helper.to_array(free[node.input[1]])
        graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(array.T), f"turned_{number}"))
        node.input[1] = f"turned_{number}"
        kept = [entry for entry in node.attribute if entry.name != "transB"]
        del node.attribute[:]
        node.attribute.extend([*kept, helper.make_attribute("transB", int(turned))])
    return model


def spell_defaults(model: ModelProto, random: Random) -> ModelProto:
    """Attributes at their defaults are written out or left away, and so are empty names of optional inputs."""
    model = copied(model)
    opset = opset_of(model)
    for node in model.graph.node:
        if node.domain not in ("", "ai.onnx") or not onnx.defs.has(node.op_type):
            continue
        schema = onnx.defs.get_schema(node.op_type, opset)
        present = {entry.name: entry for entry in node.attribute}
        for name, declared in schema.attributes.items():
            default = declared.default_value
            if not default.name:
                continue
            if name not in present and random.integers(2):
                node.attribute.append(default)
            elif name in present and present[name] == default and random.integers(2):
                node.attribute.remove(present[name])
        listed = schema.inputs[len(node.input) :]
        if listed and node.input and random.integers(2):
            optional = onnx.defs.OpSchema.FormalParameterOption.Optional
            node.input.extend("" for each in listed if each.option == optional)
    return model


def add_dead_nodes(model: ModelProto, random: Random) -> ModelProto:
    """Nodes whose results nobody reads hang on some tensors."""
    model = inferred(model)
    nodes: list[NodeProto] = []
    able = floats(model)
    for at, node in enumerate(model.graph.node):
        nodes.append(node)
        for name in node.output:
            if name in able and random.random() < 0.3:
                op_type = ("Relu", "Neg", "Shape", "Identity", "Sigmoid")[int(random.integers(5))]
                nodes.append(helper.make_node(op_type, [name], [f"dead_{at}_{name}"]))
                nodes.append(helper.make_node("Cast", [f"dead_{at}_{name}"], [f"dead_end_{at}_{name}"], to=1))
    replace_nodes(model.graph, nodes)
    return model


def read_outputs(model: ModelProto, random: Random) -> ModelProto:
    """Outputs of the graph are read inside too, for one more output that is another name of the first."""
    model = inferred(model)
    graph = model.graph
    for value in list(graph.output):
        maker = next((node for node in graph.node if value.name in node.output), None)
        if maker is not None and value.type.HasField("tensor_type"):
            graph.node.append(helper.make_node("Identity", [value.name], [f"{value.name}_again"]))
            graph.output.append(named(value, f"{value.name}_again"))
    return model


NODES: dict[str, Mutation] = {
    "reorder": reorder,
    "split": split_matmuls,
    "turned": turn_weights,
    "defaults": spell_defaults,
    "dead": add_dead_nodes,
    "read outputs": read_outputs,
}
