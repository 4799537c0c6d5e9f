"""Mutations: nodes move into local functions."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto, OperatorSetIdProto, helper

from .rewriting import Mutation, Random, copied, is_plain, opset_of


def _imports(model: ModelProto) -> list[OperatorSetIdProto]:
    found = [helper.make_opsetid(entry.domain, entry.version) for entry in model.opset_import if entry.domain != "own"]
    if not any(entry.domain in ("", "ai.onnx") for entry in found):
        found.append(helper.make_opsetid("", opset_of(model)))
    return found


def _renamed(node: NodeProto) -> tuple[NodeProto, dict[str, str], dict[str, str]]:
    """The node between names of its own, and which outer name each one stands for."""
    inner = NodeProto()
    inner.CopyFrom(node)
    given = {name: f"i{at}" for at, name in enumerate(dict.fromkeys(filter(None, node.input)))}
    made = {name: f"o{at}" for at, name in enumerate(filter(None, node.output))}
    inner.input[:] = [given.get(name, "") for name in node.input]
    inner.output[:] = [made.get(name, "") for name in node.output]
    return inner, given, made


def _finished(model: ModelProto, functions: list[FunctionProto]) -> ModelProto:
    if functions:
        model.functions.extend(functions)
        if not any(entry.domain == "own" for entry in model.opset_import):
            model.opset_import.append(helper.make_opsetid("own", 1))
        model.ir_version = max(model.ir_version, 8)
    return model


def wrap_in_functions(model: ModelProto, random: Random) -> ModelProto:
    """Some nodes are calls of functions of their own domain."""
    model = copied(model)
    functions = []
    for number, node in enumerate(model.graph.node):
        if not is_plain(node) or random.random() < 0.5 or node.domain not in ("", "ai.onnx"):
            continue
        inner, given, made = _renamed(node)
        name = f"Block{len(model.functions)}_{number}"
        functions.append(
            helper.make_function("own", name, list(given.values()), list(made.values()), [inner], _imports(model))
        )
        node.CopyFrom(helper.make_node(name, list(given), list(made), node.name, domain="own"))
    return _finished(model, functions)


def nest_functions(model: ModelProto, random: Random) -> ModelProto:
    """Some nodes are calls of functions that call functions and hand attributes on."""
    model = copied(model)
    functions = []
    imports = [*_imports(model), helper.make_opsetid("own", 1)]
    for number, node in enumerate(model.graph.node):
        if not is_plain(node) or random.random() < 0.5 or node.domain not in ("", "ai.onnx"):
            continue
        inner, given, made = _renamed(node)
        handed = {f"{entry.name}_{at}": entry for at, entry in enumerate(node.attribute)}
        for name, entry in zip(handed, inner.attribute, strict=True):
            entry.CopyFrom(AttributeProto(name=entry.name, type=entry.type, ref_attr_name=name))
        deep, shallow = f"Deep{len(model.functions)}_{number}", f"Shallow{len(model.functions)}_{number}"
        ends = list(given.values()), list(made.values())
        call = helper.make_node(deep, *ends, domain="own")
        call.attribute.extend(
            AttributeProto(name=name, type=entry.type, ref_attr_name=name) for name, entry in handed.items()
        )
        functions.append(helper.make_function("own", deep, *ends, [inner], imports, attributes=list(handed)))
        functions.append(helper.make_function("own", shallow, *ends, [call], imports, attributes=list(handed)))
        outer = helper.make_node(shallow, list(given), list(made), node.name, domain="own")
        for name, entry in handed.items():
            value = outer.attribute.add()
            value.CopyFrom(entry)
            value.name = name
        node.CopyFrom(outer)
    return _finished(model, functions)


FUNCTIONS: dict[str, Mutation] = {"functions": wrap_in_functions, "nested functions": nest_functions}
