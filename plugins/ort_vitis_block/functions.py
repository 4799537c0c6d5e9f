"""Model-local functions with which a model of block ops runs without the custom-op library, giving the same bits.

Below IR 10 there is one body per name, so a body serves all nodes of its name: integers are read from the calling node,
texts too where the nodes differ.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onnx import FunctionProto, ModelProto, NodeProto, helper

from ort_vitis_plugin.api import UnsupportedError, attribute, default_opset, put_functions, subgraphs

from .bfp_function import block_floating_point_body
from .block_body import MINIMUM_OPSET, BlockBody
from .element_types import ELEMENT_TYPES
from .mx_function import microscaling_body
from .op_attributes import (
    BFP_DEFAULTS,
    BLOCK_FLOATING_POINT,
    BLOCK_OPS,
    MX_DEFAULTS,
    check_block_floating_point,
    check_microscaling,
)


def _walk(nodes: Sequence[NodeProto]) -> Iterator[NodeProto]:
    for node in nodes:
        yield node
        for graph in subgraphs(node):
            yield from _walk(graph.node)


def _block_nodes(model: ModelProto) -> dict[tuple[str, str], list[NodeProto]]:
    """Block ops by domain and op type, also inside sub-graphs and other functions."""
    found: dict[tuple[str, str], list[NodeProto]] = {}
    bodies = [function.node for function in model.functions if (function.domain, function.name) not in BLOCK_OPS]
    for nodes in (model.graph.node, *bodies):
        for node in _walk(nodes):
            if (node.domain, node.op_type) in BLOCK_OPS:
                found.setdefault((node.domain, node.op_type), []).append(node)
    return found


def _stated(node: NodeProto) -> dict[str, int | str]:
    """The node's attributes, texts as str."""
    values = ((entry.name, attribute(node, entry.name)) for entry in node.attribute)
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in values}


def _function(key: tuple[str, str], nodes: list[NodeProto], opset: int) -> FunctionProto:
    if opset < MINIMUM_OPSET:
        raise UnsupportedError(
            f"{key[0]}:{key[1]} needs opset {MINIMUM_OPSET} or newer of the default domain and the model has {opset}; "
            f"raise it with onnx.version_converter.convert_version(model, {MINIMUM_OPSET})"
        )
    body = BlockBody(opset)
    is_bfp = key in BLOCK_FLOATING_POINT
    check = check_block_floating_point if is_bfp else check_microscaling
    defaults = BFP_DEFAULTS if is_bfp else MX_DEFAULTS
    for node in nodes:
        check(_stated(node), f"{node.op_type} node '{node.name}': ")
    complete = [defaults | _stated(node) for node in nodes]
    modes = frozenset(int(stated["rounding_mode"]) for stated in complete)
    if is_bfp:
        block_floating_point_body(body, frozenset(str(stated["bfp_method"]) for stated in complete), modes)
    else:
        names = {stated["element_dtype"] for stated in complete}
        microscaling_body(body, [element for element in ELEMENT_TYPES.values() if element.name in names], modes)
    imports = [helper.make_opsetid("", opset)]
    return helper.make_function(key[0], key[1], ["x"], ["y"], body.nodes, imports, sorted(defaults))


def _state_attributes(key: tuple[str, str], nodes: list[NodeProto]) -> None:
    """onnx's ReferenceEvaluator wants every attribute that a function declares on every node that calls it."""
    defaults = BFP_DEFAULTS if key in BLOCK_FLOATING_POINT else MX_DEFAULTS
    for node in nodes:
        stated = {entry.name for entry in node.attribute}
        node.attribute.extend(
            helper.make_attribute(name, value) for name, value in defaults.items() if name not in stated
        )


def add_block_functions(model: ModelProto) -> None:
    """Give the model a function for every block op that it uses, and the opset imports that they need.

    Changes the model in place: functions of the same names are replaced, nodes state every attribute, the IR version
    becomes at least 8. Raises UnsupportedError below opset 14, ModelError for attributes that the ops do not have.
    """
    found = _block_nodes(model)
    opset = default_opset(model)
    functions = [_function(key, nodes, opset) for key, nodes in found.items()]
    for key, nodes in found.items():
        _state_attributes(key, nodes)
    put_functions(model, functions, BLOCK_OPS, {domain for domain, _ in found})
