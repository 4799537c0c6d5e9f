"""A Relu or Clip is a saturation of codes where both of its limits lie on the ends of their range."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ..graph.clip_limits import clip_limits

if TYPE_CHECKING:
    from onnx import NodeProto

    from ..graph import Graph
    from ..plan import TensorPlan


def saturates(graph: Graph, node: NodeProto, planned: TensorPlan) -> bool:
    """Whether quantizing the input gives the codes that quantizing the output gives: both limits lie on end codes."""
    if planned.scale.ndim or not planned.kind.is_integer:
        return False
    low, high = clip_limits(graph, node)
    scale, zero = float(planned.scale), int(planned.zero_point)
    low_fits = low is None or round(low / scale) + zero <= planned.kind.min if low == low else False
    high_fits = high is None or round(high / scale) + zero >= planned.kind.max if high == high else False
    return bool(low_fits and high_fits)
