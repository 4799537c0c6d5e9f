"""The DPU concatenates by copying: all parts lie at the position of the whole.

Source: option AlignConcat of the Vitis AI Quantizer for ONNX 1.16 manual;
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


@adjuster("AlignConcat", ops=("Concat",), target="ipu_cnn")
def align_concat(plan: Plan, node: NodeProto) -> Iterator[Bound]:
    """Every input of a Concat takes the position of its output, unless that would clip one to nothing."""
    y = plan.position(plan.output_of(node))
    for part in plan.positions(*dict.fromkeys(node.input)):
        yield Bound(part - y, low=0, high=0, prefer=largest(part, y))
