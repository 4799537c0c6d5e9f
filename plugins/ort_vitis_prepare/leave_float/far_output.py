"""A detector joins boxes of hundreds of pixels with scores below one: under one scale every score is zero.

    y = Concat(boxes in [0, 640], scores in [0, 1]):   step 640 / 255 = 2.5

Behind such a Concat nothing computes any more, so nothing is lost where it stays float: the parts keep scales of their
own, and the output has none.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ort_vitis_plugin.api import RESHAPES, Graph, Stage, StaysFloat, leave_float

from .model_end import only_leaves

if TYPE_CHECKING:
    from onnx import NodeProto

    from ort_vitis_plugin.api import Context

LEAST_BITS = 3  # of a part: with fewer its values are one or two steps
JOINS_OR_MOVES = RESHAPES | {"Concat", "Identity", "Slice", "Split", "Transpose"}


def leaving(graph: Graph, nodes: list[NodeProto]) -> list[NodeProto]:
    """The nodes that only move values, and whose results only leave the model; in order."""
    found: dict[str, NodeProto] = {}
    for node in reversed(nodes):
        if node.op_type in JOINS_OR_MOVES and only_leaves(graph, node, found):
            found[node.name] = node
    return list(found.values())[::-1]


def reach(graph: Graph, context: Context, tensor: str) -> float:
    """The largest magnitude of a tensor; 0 where it is unknown."""
    array = graph.array(tensor) if graph.is_constant(tensor) else None
    if array is not None:
        return float(np.abs(array).max(initial=0.0)) if array.dtype.kind == "f" else 0.0
    sketch = context.statistics.get(tensor) if context.statistics is not None else None
    return sketch.abs_max if sketch is not None else 0.0


@leave_float("FloatFarOutput", stage=Stage.AFTER_CALIBRATION)
def float_far_output(graph: Graph, context: Context) -> StaysFloat:
    """Leave a Concat at the end of the model float whose parts lie so far apart that one scale would erase some."""
    if not context.activation.is_integer:
        return StaysFloat()
    bits = context.activation.bits
    far: set[str] = set()
    found: dict[str, str] = {}
    for node in leaving(graph, graph.sorted()):
        parts = [size for size in (reach(graph, context, tensor) for tensor in node.input) if 0 < size < np.inf]
        apart = node.op_type == "Concat" and bool(parts) and max(parts) > min(parts) * 2 ** (bits - LEAST_BITS)
        if not apart and far.isdisjoint(node.input):
            continue
        far.update(node.output)
        reason = f"joins values up to {max(parts):.3g} and {min(parts):.3g}, which" if apart else "moves what"
        found[node.name] = f"{reason} no scale of {bits} bits holds"
    return StaysFloat(found)
