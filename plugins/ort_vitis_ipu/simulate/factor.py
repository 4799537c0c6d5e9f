"""What a DPU operation computes differently by a constant factor is written as a Mul behind the float operation."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import helper

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from onnx import NodeProto

    from ort_vitis_plugin.api import Context, Graph


def declines(graph: Graph, node: NodeProto, context: Context) -> bool:
    """Whether the request leaves the node float: then the device does not compute it."""
    reason = context.refusal(node)
    if reason is not None:
        graph.skip(node, reason)
    return reason is not None


def has_factor(graph: Graph, node: NodeProto) -> bool:
    """Whether a Mul of ours stands behind the node."""
    tensor = node.output[0]
    behind = graph.sole_consumer(tensor)
    return behind is not None and behind.op_type == "Mul" and behind.name == tensor


def insert_factor(graph: Graph, node: NodeProto, factor: float) -> None:
    """Let ``node`` write ``<out>_Mul`` and a Mul by ``factor`` write ``<out>``.

    The pair belongs behind the Mul, and the factor is not quantized: the device knows neither of them.
    """
    out = node.output[0]
    inner = graph.unique(f"{out}_Mul")
    element_type = graph.element_type(out) or graph.element_type(node.input[0])
    dtype = helper.tensor_dtype_to_np_dtype(element_type) if element_type else np.dtype(np.float32)
    scale = graph.add_initializer(f"{out}_Scale", np.asarray(factor, dtype=dtype))
    graph.set_outputs(node, [inner, *node.output[1:]])
    graph.add(helper.make_node("Mul", [inner, scale], [out], name=inner))
    if element_type:
        graph.describe(inner, element_type, graph.shape(out))
    graph.device_output[inner] = out
    graph.device_nodes.add(inner)


def insert_factors(
    graph: Graph, context: Context, nodes: Iterable[NodeProto], factor_of: Callable[[Graph, NodeProto], float | None]
) -> int:
    """A Mul behind each node, where the factor is known and not 1; returns their number."""
    count = 0
    for node in nodes:
        if has_factor(graph, node) or declines(graph, node, context):
            continue
        factor = factor_of(graph, node)
        if factor is None:
            graph.skip(node, f"how many values of {node.input[0]} are averaged is not known before run time")
        elif factor != 1.0:
            insert_factor(graph, node, factor)
            count += 1
    return count
