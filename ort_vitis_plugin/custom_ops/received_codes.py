"""Activations may come as codes (a camera's bytes, another tool's pair) behind a DequantizeLinear of constant scale."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..graph.element_types import EIGHT_BITS, SIXTEEN_BITS
from ..graph.nodes import attribute
from .qdq_nodes import is_native

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..graph import Graph

# Codes of 32 bits are sums of products, not what an operator multiplies.
OPERANDS = EIGHT_BITS | SIXTEEN_BITS


@dataclass(frozen=True)
class ReceivedCodes:
    """value = (codes - zero_point) * scale, of codes that only a run shows; both are scalars."""

    element_type: int
    scale: NDArray[np.float32]
    zero_point: NDArray[np.int64]


def received_codes(graph: Graph, tensor: str) -> ReceivedCodes | None:
    """The codes that a tensor is made of, where they flow; None for other tensors, and where channels have scales."""
    node = graph.producer(tensor)
    if node is None or not is_native(node, "DequantizeLinear") or graph.is_constant(node.input[0]):
        return None
    scale, *rest = [None if name in graph.inputs else graph.array(name) for name in node.input[1:] if name]
    zero = rest[0] if rest else np.zeros(())
    element_type = graph.element_type(node.input[0])
    if element_type not in OPERANDS or scale is None or zero is None or scale.size != 1 or zero.size != 1:
        return None
    if attribute(node, "block_size", 0) or not float(scale.item()) > 0:
        return None
    return ReceivedCodes(element_type, scale.astype(np.float32).reshape(()), zero.astype(np.int64).reshape(()))
