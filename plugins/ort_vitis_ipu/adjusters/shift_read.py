"""Before the DPU adds two tensors it shifts the finer one right, by at most 7 bits.

Source: option AdjustShiftRead of the Vitis AI Quantizer for ONNX 1.16 manual;
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


@adjuster("AdjustShiftRead", ops=("Add",), target="ipu_cnn")
def shift_read(plan: Plan, node: NodeProto) -> Iterator[Bound]:
    """Keep the positions of an Add's two inputs at most 7 apart."""
    a, b = plan.positions(*node.input)
    yield Bound(a - b, high=7, prefer=a)
    yield Bound(b - a, high=7, prefer=b)
