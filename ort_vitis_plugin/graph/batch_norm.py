"""BatchNormalization at inference is y = a x + c per channel: a = gamma / sqrt(var + epsilon), c = beta - mean a."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import NodeProto

from .edit import constant
from .graph import Graph
from .nodes import attribute

if TYPE_CHECKING:
    from numpy.typing import NDArray

EPSILON = 1e-5  # ONNX's default


def batch_norm_affine(graph: Graph, node: NodeProto) -> tuple[NDArray[np.float64], NDArray[np.float64]] | str:
    """(a, c), each [C] in float64, of y = a x + c by channel, or why the node is no constant affine map."""
    if attribute(node, "training_mode", 0) or any(node.output[1:]):
        return "it runs in training mode"
    if attribute(node, "spatial", 1) != 1:
        return "its statistics are not per channel"
    arrays: list[NDArray[Any] | None] = [constant(graph, tensor) for tensor in node.input[1:5]]
    if len(arrays) != 4 or any(array is None for array in arrays):
        return "its scale, bias, mean or variance is not constant"
    gamma, beta, mean, variance = (np.asarray(array, dtype=np.float64) for array in arrays)
    with np.errstate(invalid="ignore", divide="ignore"):
        a = gamma / np.sqrt(variance + attribute(node, "epsilon", EPSILON))
        c = beta - mean * a
    if not (np.isfinite(a).all() and np.isfinite(c).all()):
        return "its variance + epsilon is not positive, or a parameter is not finite"
    return a, c
