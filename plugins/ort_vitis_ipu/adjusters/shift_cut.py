"""The DPU shifts its accumulator right by 0 to 16 bits before writing an output.

Source: option AdjustShiftCut of the Vitis AI Quantizer for ONNX 1.16 manual;
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


@adjuster("AdjustShiftCut", ops=("Conv", "Gemm"), target="ipu_cnn")
def shift_cut(plan: Plan, node: NodeProto) -> Iterator[Bound]:
    """0 <= wpos + ipos - opos <= 16: how far the accumulator is shifted for the output."""
    x, w, y = plan.positions(node.input[0], node.input[1], plan.output_of(node))
    yield Bound(w + x - y, low=0, high=16, prefer=w)
