"""A block of one element takes the 16 bits of a bfloat16, and holds the value in fewer of them.

Eight bits of an integer have 7 for the magnitude, of which a float's leading 1 is one: the worst error is 2^-7 of the
value. bfloat16 has 8: 2^-8. Only where products are summed in blocks does an element have to be in one.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from .reduction_axis import default_axis, reduction_axis

if TYPE_CHECKING:
    from ort_vitis_plugin.api import Graph, QType

ELEMENT_BITS = 8
"""With an exponent of 8 bits for each element alone: 16."""


def is_alone(graph: Graph, tensor: str, kind: QType) -> bool:
    """Whether every element of a tensor is a block of its own that takes a bfloat16's bits, and no reader sums over it.

    Tensors that have one element in all pass the op as they are.
    """
    shape = graph.shape(tensor) or ()
    if kind.bits != ELEMENT_BITS or len(shape) < 2 or all(size == 1 for size in shape):
        return False
    if shape[default_axis(graph, tensor)] != 1:
        return False
    reads = [(node, at) for node in graph.consumers(tensor) for at, name in enumerate(node.input) if name == tensor]
    return all(reduction_axis(graph, node, at) is None for node, at in reads)
