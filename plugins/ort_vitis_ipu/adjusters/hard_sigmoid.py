"""The DPU computes HardSigmoid in integers, x * 2731 / 2^14 + 1/2, and shifts right by 14 + ipos - opos bits.

Source: option AdjustHardSigmoid of the Vitis AI Quantizer for ONNX 1.16 manual;
the limits are those within which models of that release lie, restated in
tests/ort_vitis_plugin/solver/test_against_original.py.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ort_vitis_plugin.api import Bound, adjuster

from ..device_form import is_device_hard_sigmoid

if TYPE_CHECKING:
    from onnx import NodeProto

    from ort_vitis_plugin.api import Plan


@adjuster("AdjustHardSigmoid", ops=("HardSigmoid",), target="ipu_cnn")
def hard_sigmoid_bounds(plan: Plan, node: NodeProto) -> Iterator[Bound]:
    """0 <= ipos <= 15, opos >= 7 and 0 <= 14 + ipos - opos <= 31."""
    if not is_device_hard_sigmoid(node):
        return
    x, y = plan.positions(node.input[0], plan.output_of(node))
    yield Bound(x, low=0, high=15, prefer=x)
    yield Bound(y, low=7, prefer=y)
    yield Bound(14 + x - y, low=0, high=31, prefer=y)
