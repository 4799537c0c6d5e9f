"""The DPU shifts a bias left by at most 15 bits to meet the accumulator, and right no further than the cut allows.

Source: option AdjustShiftBias of the Vitis AI Quantizer for ONNX 1.16 manual;
the limits are those within which models of that release lie, restated in
tests/ort_vitis_plugin/solver/test_against_original.py.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ort_vitis_plugin.api import Bound, adjuster

if TYPE_CHECKING:
    from onnx import NodeProto

    from ort_vitis_plugin.api import Plan


@adjuster("AdjustShiftBias", ops=("Conv", "Gemm"), target="ipu_cnn")
def shift_bias(plan: Plan, node: NodeProto) -> Iterator[Bound]:
    """-(24 - (8 + cut)) <= wpos + ipos - bpos <= 15, the lower limit 0 where a LeakyRelu follows.

    With cut = wpos + ipos - opos the lower limit is bpos - opos <= 16, whatever the weight's position.
    """
    x, w, b, y = plan.positions(node.input[0], node.input[1], plan.bias_of(node), plan.output_of(node))
    yield Bound(w + x - b, high=15, prefer=b)
    if any(reader.op_type == "LeakyRelu" for reader in plan.graph.consumers(node.output[0])):
        yield Bound(w + x - b, low=0, prefer=b)
    else:
        yield Bound(b - y, high=16, prefer=b)
