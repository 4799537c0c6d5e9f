"""A Relu or Clip is a saturation of codes where both of its limits lie on the ends of their range."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..graph import attribute

if TYPE_CHECKING:
    from onnx import NodeProto

    from ..graph import Graph
    from ..plan import TensorPlan


def clip_limits(graph: Graph, node: NodeProto) -> tuple[float | None, float | None]:
    """The constant limits of a Relu or Clip in either spelling; NaN where a limit is not constant."""
    if node.op_type == "Relu":
        return 0.0, None
    limits: list[float | None] = []
    for number, key in ((1, "min"), (2, "max")):
        value = attribute(node, key)
        if value is None and len(node.input) > number and node.input[number]:
            array = graph.array(node.input[number])
            value = float("nan") if array is None else float(np.asarray(array).reshape(-1)[0])
        limits.append(None if value is None else float(value))
    return limits[0], limits[1]


def saturates(graph: Graph, node: NodeProto, planned: TensorPlan) -> bool:
    """Whether quantizing the input gives the codes that quantizing the output gives: both limits lie on end codes."""
    if planned.scale.ndim or not planned.kind.is_integer:
        return False
    low, high = clip_limits(graph, node)
    scale, zero = float(planned.scale), int(planned.zero_point)
    low_fits = low is None or round(low / scale) + zero <= planned.kind.min if low == low else False
    high_fits = high is None or round(high / scale) + zero >= planned.kind.max if high == high else False
    return bool(low_fits and high_fits)
