"""The DPU shifts a sum or product once more when it writes it; the shifter has a limited reach.

Source: option AdjustShiftWrite of the Vitis AI Quantizer for ONNX 1.16 manual;
the limits are those within which models of that release lie, restated in
tests/ort_vitis_plugin/solver/test_against_original.py.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ort_vitis_plugin.api import Bound, adjuster, least

if TYPE_CHECKING:
    from onnx import NodeProto

    from ort_vitis_plugin.api import Plan


@adjuster("AdjustShiftWrite", ops=("Add", "Mul"), target="ipu_cnn")
def shift_write(plan: Plan, node: NodeProto) -> Iterator[Bound]:
    """Add: -7 <= min(apos, bpos) - opos <= 25. Mul: 0 <= apos + bpos - opos <= 32."""
    a, b, y = plan.positions(*node.input, plan.output_of(node))
    if node.name in plan.graph.device_nodes or None in (a.name, b.name):
        return
    if node.op_type == "Add":
        yield Bound(least(a, b) - y, low=-7, high=25, prefer=y)
    else:
        yield Bound(a + b - y, low=0, high=32, prefer=y)
