"""The probabilities at the end of a classifier are for people and thresholds: codes of [0, 1] erase the small ones.

A classifier of 1,000 classes spreads its doubt over probabilities below 1/256, and a step of that size makes them 0:
a network of the zoo that ends in Softmax falls from an R2 of 1 to -6 (`open_nsfw`, tests/zoo/README.md). The device
gains nothing by codes behind which nothing computes.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.api import DEFAULT_DOMAINS, RESHAPES, SOFTMAXES, Graph, Stage, StaysFloat, leave_float

from .model_end import only_leaves

if TYPE_CHECKING:
    from ort_vitis_plugin.api import Context

PASSING = RESHAPES | {"Identity", "Transpose", "Cast"}
REASON = "its probabilities only leave the model"


@leave_float("FloatFinalSoftmax", stage=Stage.PREPARE, before=("FoldBatchNorm",))
def float_final_softmax(graph: Graph, context: Context) -> StaysFloat:
    """Leave a Softmax float whose probabilities only leave the model, unless op_types_to_quantize names Softmax."""
    if SOFTMAXES & set(context.request.op_types):
        return StaysFloat()
    if not any(node.op_type in SOFTMAXES for node in graph):
        return StaysFloat()
    found: dict[str, str] = {}
    leaves: set[str] = set()
    for node in reversed(graph.sorted()):
        if node.domain not in DEFAULT_DOMAINS or not only_leaves(graph, node, leaves):
            continue
        if node.op_type in PASSING:
            leaves.add(node.name)
        elif node.op_type in SOFTMAXES:
            found[node.name] = REASON
    behind = [node for node in graph.sorted() if node.name in leaves]
    floats = {tensor for node in graph if node.name in found for tensor in node.output}
    for node in behind:
        if floats.intersection(node.input):
            found[node.name] = REASON
            floats.update(node.output)
    return StaysFloat(found)
