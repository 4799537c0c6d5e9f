"""The DPU multiplies a tensor by its own HardSigmoid in one operation, and shifts the product right by 0 to 15 bits.

Source: option AdjustShiftSwish of the Vitis AI Quantizer for ONNX 1.16 manual;
the limits are those within which models of that release lie, restated in
tests/ort_vitis_plugin/solver/test_against_original.py.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ort_vitis_plugin.api import Bound, adjuster

from ..device_form import device_producer, is_device_hard_sigmoid

if TYPE_CHECKING:
    from onnx import NodeProto

    from ort_vitis_plugin.api import Graph, Plan


def _is_hard_sigmoid_of(graph: Graph, gate: str, x: str) -> bool:
    producer = device_producer(graph, gate)
    return producer is not None and is_device_hard_sigmoid(producer) and producer.input[0] == x


@adjuster("AdjustShiftSwish", ops=("Mul",), target="ipu_cnn")
def shift_swish(plan: Plan, node: NodeProto) -> Iterator[Bound]:
    """0 <= xpos + hpos - opos <= 15 for x * h with h = HardSigmoid(x)."""
    a, b = node.input
    if _is_hard_sigmoid_of(plan.graph, a, b) or _is_hard_sigmoid_of(plan.graph, b, a):
        x, h, y = plan.positions(a, b, plan.output_of(node))
        yield Bound(x + h - y, low=0, high=15, prefer=y)
