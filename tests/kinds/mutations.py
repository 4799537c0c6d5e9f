"""Ways to write the same network differently. Each takes a model and a generator and gives a model of its own."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper
from onnx.shape_inference import infer_shapes

from ort_vitis_plugin.graph import body_names, captured_names, subgraphs

Random = np.random.Generator
Mutation = Callable[[ModelProto, Random], ModelProto]

ODD_NAMES = ("{n} x", "/layer.{n}/op:0", "{n}", "t{n}_scale", "t{n}_quantized", "t{n}_DequantizeLinear_Output", "模{n}")


def _copy(model: ModelProto) -> ModelProto:
    copy = ModelProto()
    copy.CopyFrom(model)
    return copy


def _replace_nodes(graph: GraphProto, nodes: list[NodeProto]) -> None:
    kept = list(nodes)
    scratch = GraphProto()
    scratch.node.extend(kept)
    del graph.node[:]
    graph.node.extend(scratch.node)


def _free(graph: GraphProto) -> set[str]:
    """Names of initializers that are no inputs and no outputs."""
    ends = {value.name for value in (*graph.input, *graph.output)}
    return {tensor.name for tensor in graph.initializer} - ends


def _captured(graph: GraphProto) -> set[str]:
    found: set[str] = set()
    for node in graph.node:
        found |= captured_names(node) | set(body_names(node))
    return found


def rename(model: ModelProto, random: Random) -> ModelProto:
    """Inner tensors and constants get names that exporters, other tools and other people give."""
    model = _copy(model)
    graph = model.graph
    kept = {value.name for value in (*graph.input, *graph.output)} | _captured(graph)
    names = [t.name for t in graph.initializer] + [name for node in graph.node for name in node.output if name]
    style = ODD_NAMES[int(random.integers(len(ODD_NAMES)))]
    new = {name: style.format(n=number) for number, name in enumerate(dict.fromkeys(names)) if name not in kept}
    for node in graph.node:
        node.input[:] = [new.get(name, name) for name in node.input]
        node.output[:] = [new.get(name, name) for name in node.output]
    for tensor in graph.initializer:
        tensor.name = new.get(tensor.name, tensor.name)
    del graph.value_info[:]
    return model


def unname(model: ModelProto, random: Random) -> ModelProto:
    """Nodes have no names, or all have one."""
    model = _copy(model)
    name = "" if random.integers(2) else "node"
    for node in model.graph.node:
        node.name = name
    return model


def insert_identities(model: ModelProto, random: Random) -> ModelProto:
    """Some inputs pass an Identity or two."""
    model = _copy(model)
    nodes: list[NodeProto] = []
    for at, node in enumerate(model.graph.node):
        for number, name in enumerate(node.input):
            for step in range(int(random.integers(3)) if name and random.random() < 0.5 else 0):
                passed = f"identity_{at}_{number}_{step}"
                nodes.append(helper.make_node("Identity", [node.input[number]], [passed]))
                node.input[number] = passed
        nodes.append(node)
    _replace_nodes(model.graph, nodes)
    return model


def make_constants(model: ModelProto, random: Random) -> ModelProto:
    """Some initializers become Constant nodes."""
    model = _copy(model)
    graph = model.graph
    chosen = {name for name in sorted(_free(graph)) if random.random() < 0.7}
    nodes = [
        helper.make_node("Constant", [], [tensor.name], value=tensor)
        for tensor in graph.initializer
        if tensor.name in chosen
    ]
    rest = [tensor for tensor in graph.initializer if tensor.name not in chosen]
    scratch = GraphProto()
    scratch.initializer.extend(rest)
    del graph.initializer[:]
    graph.initializer.extend(scratch.initializer)
    _replace_nodes(graph, [*nodes, *graph.node])
    return model


def insert_cast_pairs(model: ModelProto, random: Random) -> ModelProto:
    """Some float tensors go to double and back."""
    model = infer_shapes(_copy(model))
    graph = model.graph
    values = (*graph.input, *graph.value_info)
    floats = {v.name for v in values if v.type.tensor_type.elem_type == TensorProto.FLOAT}
    floats |= {tensor.name for tensor in graph.initializer if tensor.data_type == TensorProto.FLOAT}
    nodes: list[NodeProto] = []
    for at, node in enumerate(graph.node):
        for number, name in enumerate(node.input):
            if name in floats and random.random() < 0.3:
                wide, back = f"wide_{at}_{number}", f"back_{at}_{number}"
                nodes.append(helper.make_node("Cast", [name], [wide], to=TensorProto.DOUBLE))
                nodes.append(helper.make_node("Cast", [wide], [back], to=TensorProto.FLOAT))
                node.input[number] = back
        nodes.append(node)
    _replace_nodes(graph, nodes)
    return model


def list_as_inputs(model: ModelProto, random: Random) -> ModelProto:
    """Initializers are listed as inputs, as up to IR 3."""
    model = _copy(model)
    graph = model.graph
    for tensor in graph.initializer:
        if tensor.name in _free(graph):
            graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    if not model.functions and all(entry.version < 15 for entry in model.opset_import):
        model.ir_version = 3
    return model


def _whole(node: NodeProto) -> bool:
    return not any(subgraphs(node)) and node.op_type != "Constant" and bool(node.input)


def wrap_in_functions(model: ModelProto, random: Random) -> ModelProto:
    """Some nodes are calls of functions of their own domain."""
    model = _copy(model)
    default = next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 1)
    imports = [helper.make_opsetid(entry.domain, entry.version) for entry in model.opset_import]
    if all(entry.domain for entry in imports):
        imports.append(helper.make_opsetid("", default))
    for number, node in enumerate(model.graph.node):
        if not _whole(node) or random.random() < 0.5 or node.domain not in ("", "ai.onnx"):
            continue
        inner = NodeProto()
        inner.CopyFrom(node)
        named = {name: f"i{at}" for at, name in enumerate(dict.fromkeys(filter(None, node.input)))}
        made = {name: f"o{at}" for at, name in enumerate(filter(None, node.output))}
        inner.input[:] = [named.get(name, "") for name in node.input]
        inner.output[:] = [made.get(name, "") for name in node.output]
        function = helper.make_function(
            "own", f"Block{number}", list(named.values()), list(made.values()), [inner], imports
        )
        model.functions.append(function)
        call = helper.make_node(f"Block{number}", list(named), list(made), node.name, domain="own")
        node.CopyFrom(call)
    if model.functions:
        model.opset_import.append(helper.make_opsetid("own", 1))
        model.ir_version = max(model.ir_version, 8)
    return model


def wrap_in_if(model: ModelProto, random: Random) -> ModelProto:
    """One node is the branch that an If with a constant condition takes."""
    model = infer_shapes(_copy(model))
    graph = model.graph
    known = {value.name: value for value in (*graph.value_info, *graph.output)}
    able = [node for node in graph.node if _whole(node) and all(name in known for name in node.output)]
    if not able:
        return model
    node = able[int(random.integers(len(able)))]
    condition = bool(random.integers(2))
    graph.initializer.append(numpy_helper.from_array(np.array(condition), "always"))
    inner = NodeProto()
    inner.CopyFrom(node)
    inner.output[:] = [f"{name}_inside" for name in node.output]
    taken = helper.make_graph([inner], "taken", [], [_named(known[name], f"{name}_inside") for name in node.output])
    never = helper.make_graph(
        [
            helper.make_node(
                "Constant",
                [],
                [f"{name}_never"],
                value=numpy_helper.from_array(
                    np.zeros(1, helper.tensor_dtype_to_np_dtype(known[name].type.tensor_type.elem_type))
                ),
            )
            for name in node.output
        ],
        "never",
        [],
        [
            helper.make_tensor_value_info(f"{name}_never", known[name].type.tensor_type.elem_type, None)
            for name in node.output
        ],
    )
    branches = (taken, never) if condition else (never, taken)
    node.CopyFrom(
        helper.make_node(
            "If", ["always"], list(node.output), node.name, then_branch=branches[0], else_branch=branches[1]
        )
    )
    for value in graph.value_info:
        if value.name in node.output:
            value.type.tensor_type.ClearField("shape")
    return model


def _named(value: ValueInfoProto, name: str) -> ValueInfoProto:
    copy = ValueInfoProto()
    copy.CopyFrom(value)
    copy.name = name
    return copy


def split_matmuls(model: ModelProto, random: Random) -> ModelProto:
    """A Gemm without factors becomes MatMul and Add."""
    model = _copy(model)
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
    _replace_nodes(model.graph, nodes)
    return model


def shuffle_constants(model: ModelProto, random: Random) -> ModelProto:
    """Initializers come in another order."""
    model = _copy(model)
    graph = model.graph
    order = list(random.permutation(len(graph.initializer)))
    scratch = GraphProto()
    scratch.initializer.extend(graph.initializer[int(at)] for at in order)
    del graph.initializer[:]
    graph.initializer.extend(scratch.initializer)
    return model


MUTATIONS: dict[str, Mutation] = {
    "rename": rename,
    "unname": unname,
    "identities": insert_identities,
    "constants": make_constants,
    "casts": insert_cast_pairs,
    "inputs": list_as_inputs,
    "functions": wrap_in_functions,
    "if": wrap_in_if,
    "split": split_matmuls,
    "shuffle": shuffle_constants,
}
