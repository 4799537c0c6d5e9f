"""A Relu or Clip is a saturation of codes where both of its limits lie on the ends of their range, or beyond.

[-a, a] on 256 codes has its middle between two of them: its ends lie half a code inside the range of the codes.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ..graph.clip_limits import clip_limits

if TYPE_CHECKING:
    from onnx import NodeProto

    from ..graph import Graph
    from ..plan import TensorPlan

HALF_A_CODE = 0.5 + 2.0**-8  # and what a scale of float32 is off at 16 bits


def saturates(graph: Graph, node: NodeProto, planned: TensorPlan) -> bool:
    """Whether codes of the input, saturated, are those of the output to within half a code."""
    if planned.scale.ndim or not planned.kind.is_integer:
        return False
    low, high = clip_limits(graph, node)
    scale, zero = float(planned.scale), int(planned.zero_point)
    # A limit that is not constant is NaN, of which no comparison holds.
    low_fits = low is None or low / scale + zero <= planned.kind.min + HALF_A_CODE
    high_fits = high is None or high / scale + zero >= planned.kind.max - HALF_A_CODE
    return bool(low_fits and high_fits)
