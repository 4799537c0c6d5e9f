"""The DPU pools without a shift: input and output lie at one position.

Source: option AlignPool of the Vitis AI Quantizer for ONNX 1.16 manual;
the limits are those within which models of that release lie, restated in
tests/ort_vitis_plugin/solver/test_against_original.py.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ort_vitis_plugin.api import Bound, adjuster, largest

if TYPE_CHECKING:
    from onnx import NodeProto

    from ort_vitis_plugin.api import Plan


def _data_input(plan: Plan, node: NodeProto) -> str:
    """The tensor that the pool reads from memory: behind a Pad that is fused into it."""
    tensor: str = node.input[0]
    producer = plan.graph.producer(tensor)
    if producer is not None and producer.op_type == "Pad" and tensor in plan.fused:
        tensor = producer.input[0]
    return tensor


@adjuster("AlignPool", ops=("MaxPool", "AveragePool", "GlobalAveragePool"), target="ipu_cnn")
def align_pool(plan: Plan, node: NodeProto) -> Iterator[Bound]:
    """The output of a pooling node takes the position of its input."""
    x, y = plan.positions(_data_input(plan, node), plan.output_of(node))
    yield Bound(x - y, low=0, high=0, prefer=largest(x, y))
