"""A tensor is a constant when no caller can replace it: an initializer, a Constant node, or an Identity of one."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import ModelProto, NodeProto, ValueInfoProto, helper, numpy_helper

from .graph import Graph
from .nodes import attribute, has_input

if TYPE_CHECKING:
    from numpy.typing import NDArray


def constant(graph: Graph, tensor: str) -> NDArray[Any] | None:
    """The value of a constant tensor, in its own shape and type, else None. Read-only."""
    node = graph.producer(tensor)
    while node is not None and node.op_type == "Identity":
        tensor = node.input[0]
        node = graph.producer(tensor)
    return None if not tensor or tensor in graph.inputs else graph.array(tensor)


def scalar(graph: Graph, tensor: str) -> float | None:
    """The value of a constant of one element, else None."""
    value = constant(graph, tensor)
    return None if value is None or value.size != 1 else float(value.reshape(()))


def integers(graph: Graph, node: NodeProto, name: str, position: int) -> list[int] | None:
    """A list of integers that is an attribute in older opsets and an input in newer ones; None where absent."""
    listed = attribute(node, name)
    if listed is None and has_input(node, position):
        value = constant(graph, node.input[position])
        listed = None if value is None else value.reshape(-1)
    return None if listed is None else [int(entry) for entry in listed]


def clip_bounds(graph: Graph, node: NodeProto) -> tuple[float | None, float | None]:
    """[low, high] of a Clip, attributes or inputs; an absent bound is infinite, one that is not constant is None."""
    bounds: list[float | None] = []
    for position, (name, default) in enumerate((("min", -np.inf), ("max", np.inf)), start=1):
        if has_input(node, position):
            bounds.append(scalar(graph, node.input[position]))
        else:
            bounds.append(float(attribute(node, name, default)))
    return bounds[0], bounds[1]


def store(graph: Graph, node: NodeProto, position: int, array: NDArray[Any]) -> None:
    """Give ``node`` a new constant at one input; under the old name where nobody else reads that one.

    ``array`` keeps its shape and type.
    """
    name = node.input[position] if position < len(node.input) else ""
    if name in graph.initializers and graph.sole_consumer(name) is node:
        graph.put_initializer(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return
    inputs = list(node.input) + [""] * (position + 1 - len(node.input))
    inputs[position] = graph.add_initializer(name or f"{node.output[0]}_bias", array)
    rewire(graph, node, inputs)


def rewire(graph: Graph, node: NodeProto, inputs: Iterable[str]) -> None:
    """Set the inputs; Constant nodes that nobody reads any more go."""
    before = list(node.input)
    graph.set_inputs(node, inputs)
    for tensor in before:
        while (maker := graph.producer(tensor)) is not None and maker.op_type in ("Constant", "Identity"):
            if graph.consumers(tensor) or tensor in graph.outputs:
                break
            graph.remove(maker)
            tensor = maker.input[0] if maker.input else ""


def become(graph: Graph, node: NodeProto, op_type: str, inputs: Iterable[str], **attributes: Any) -> None:
    """Turn a node into another one; it keeps its name and outputs."""
    rewire(graph, node, inputs)
    node.op_type = op_type
    del node.attribute[:]
    node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())


def discard(graph: Graph, nodes: Iterable[NodeProto]) -> None:
    """Remove nodes, and the Constant nodes that only they read."""
    for node in nodes:
        rewire(graph, node, [])
        graph.remove(node)


def with_outputs(model: ModelProto, names: Iterable[str]) -> ModelProto:
    """The model with these tensors among its outputs; weights are those of the model."""
    missing = [name for name in names if name not in {value.name for value in model.graph.output}]
    if not missing:
        return model
    more = ModelProto()
    more.CopyFrom(model)
    more.graph.output.extend(ValueInfoProto(name=name) for name in missing)
    return more
