"""The constant limits of a Relu or Clip, in whichever spelling the opset has."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .nodes import attribute

if TYPE_CHECKING:
    from onnx import NodeProto

    from .graph import Graph


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
