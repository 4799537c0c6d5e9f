"""A Relu or Clip says where it cuts, in three spellings: by its type, by attributes, by inputs."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .edit import clip_bounds

if TYPE_CHECKING:
    from onnx import NodeProto

    from .graph import Graph


def clip_limits(graph: Graph, node: NodeProto) -> tuple[float | None, float | None]:
    """The limits of a Relu or Clip: None where there is none (or it is infinite), NaN where it is not constant."""
    if node.op_type == "Relu":
        return 0.0, None
    low, high = (math.nan if bound is None else bound for bound in clip_bounds(graph, node))
    return None if math.isinf(low) else low, None if math.isinf(high) else high
