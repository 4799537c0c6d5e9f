"""Gemm's alpha and beta move into its constants: alpha A B + beta C = A (alpha B) + (beta C)."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ort_vitis_plugin.api import Graph, Stage, attribute, transform

if TYPE_CHECKING:
    from onnx import NodeProto


def _fold(graph: Graph, node: NodeProto, number: int, name: str) -> int:
    factor = float(attribute(node, name, 1.0))
    tensor = node.input[number] if len(node.input) > number else ""
    if factor == 1.0:
        return 0
    if not tensor:
        return _set_to_one(node, name) if name == "beta" else 0
    array = graph.array(tensor)
    if array is None or not graph.is_constant(tensor):
        graph.skip(node, f"{name} is {factor} and input {number} is not constant")
        return 0
    if tensor in graph.kept:
        graph.skip(node, f"the request names {tensor}")
        return 0
    inputs = list(node.input)
    inputs[number] = graph.add_initializer(tensor, np.asarray(array * factor, dtype=array.dtype))
    graph.set_inputs(node, inputs)
    return _set_to_one(node, name)


def _set_to_one(node: NodeProto, name: str) -> int:
    for entry in node.attribute:
        if entry.name == name:
            entry.f = 1.0
    return 1


@transform("FoldGemmFactors", stage=Stage.NORMALIZE, default=None)
def fold_gemm_factors(graph: Graph) -> int:
    """Multiply Gemm's alpha into B and beta into C where they are constant."""
    return sum(
        _fold(graph, node, number, name)
        for node in graph.of_type("Gemm")
        for number, name in ((1, "alpha"), (2, "beta"))
    )
