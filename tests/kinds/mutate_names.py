"""Mutations: the same nodes and tensors under other names."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Mapping

from onnx import GraphProto, ModelProto

from ort_vitis_plugin.emission.names import GENERATED_SUFFIXES
from ort_vitis_plugin.graph import subgraphs

from .rewriting import Mutation, Random, all_names, copied, in_bodies

ODD_NAMES = (
    "{n} x",
    "/layer.{n}/op:0",
    "{n}",
    "t{n}_scale",
    "t{n}_quantized",
    "t{n}_DequantizeLinear_Output",
    "模{n}",
    "a\\b\t{n}\n'\"",
    "{n}" + "long" * 60,
)
SUFFIXES = (*GENERATED_SUFFIXES, "_DequantizeLinear_Output_1", "_1", "_bias", "_identity")


def _rename(graph: GraphProto, new: Mapping[str, str]) -> None:
    for node in graph.node:
        node.input[:] = [new.get(name, name) for name in node.input]
        node.output[:] = [new.get(name, name) for name in node.output]
    for tensor in graph.initializer:
        tensor.name = new.get(tensor.name, tensor.name)
    for value in graph.value_info:
        value.name = new.get(value.name, value.name)


def _inner(graph: GraphProto) -> list[str]:
    """Tensors and constants that are free to be called otherwise."""
    kept = {value.name for value in (*graph.input, *graph.output)} | in_bodies(graph)
    names = [tensor.name for tensor in graph.initializer] + [
        name for node in graph.node for name in node.output if name
    ]
    return [name for name in dict.fromkeys(names) if name not in kept]


def rename(model: ModelProto, random: Random) -> ModelProto:
    """Inner tensors and constants get names that exporters, other tools and other people give."""
    model = copied(model)
    style = ODD_NAMES[int(random.integers(len(ODD_NAMES)))]
    names = _inner(model.graph)
    _rename(model.graph, {name: style.format(n=number) for number, name in enumerate(names)})
    del model.graph.value_info[:]
    return model


def clash(model: ModelProto, random: Random) -> ModelProto:
    """Inner tensors and nodes are called as what quantization will make of another tensor."""
    model = copied(model)
    graph = model.graph
    taken = all_names(graph)
    others = sorted(taken - {""})
    new: dict[str, str] = {}
    for name in _inner(graph):
        if random.random() < 0.5 and others:
            other, suffix = (choice[int(random.integers(len(choice)))] for choice in (others, SUFFIXES))
            if other + suffix not in taken and other not in new:
                new[name] = other + suffix
                taken.add(other + suffix)
    _rename(graph, new)
    nodes = {node.name for node in graph.node}
    for node in graph.node:
        if random.random() < 0.3 and others:
            other, suffix = (choice[int(random.integers(len(choice)))] for choice in (others, SUFFIXES))
            if other + suffix not in nodes:
                nodes.add(other + suffix)
                node.name = other + suffix
    return model


def unname(model: ModelProto, random: Random) -> ModelProto:
    """Nodes have no names, or all have one, or those of their outputs."""
    model = copied(model)
    style = int(random.integers(4))
    for node in model.graph.node:
        node.name = ("", "node", next(filter(None, node.output), ""), node.op_type)[style]
    return model


def spell_domain(model: ModelProto, random: Random) -> ModelProto:
    """The default domain is written out, by the model, its nodes or both."""
    model = copied(model)
    if random.integers(2):
        for entry in model.opset_import:
            entry.domain = entry.domain or "ai.onnx"
    nodes = [
        *model.graph.node,
        *(inner for node in model.graph.node for body in subgraphs(node) for inner in body.node),
    ]
    for node in nodes:
        if not node.domain and random.random() < 0.5:
            node.domain = "ai.onnx"
    return model


def annotate(model: ModelProto, random: Random) -> ModelProto:
    """Documentation, metadata and the names that tools leave."""
    model = copied(model)
    model.doc_string, model.producer_name, model.graph.name = (
        "text",
        "tool",
        ("", "g", "main graph/0")[random.integers(3)],
    )
    model.metadata_props.add(key="key", value="value")
    for value in (*model.graph.input, *model.graph.output, *model.graph.value_info, *model.graph.node):
        value.doc_string = "text"
    return model


NAMES: dict[str, Mutation] = {
    "rename": rename,
    "clash": clash,
    "unname": unname,
    "domain": spell_domain,
    "annotate": annotate,
}
