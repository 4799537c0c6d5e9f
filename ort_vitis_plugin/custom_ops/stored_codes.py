"""Weights may come as codes: a constant of integers, and a DequantizeLinear with constant parameters behind it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.nodes import attribute
from ..numerics.qtypes import stored_qtype
from .qdq_nodes import is_native

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from onnx import NodeProto

    from ..graph import Graph
    from ..numerics.qtypes import QType


@dataclass(frozen=True)
class StoredCodes:
    """value = (codes - zero_point) * scale.

    ``scale`` and ``zero_point`` are scalars, or have one entry for each channel along ``axis``; with ``block_size``
    each entry is that of as many neighbours along the axis.
    """

    node: NodeProto
    element_type: int
    codes: NDArray[Any]
    scale: NDArray[np.float32]
    zero_point: NDArray[np.int64]
    axis: int | None
    block_size: int = 0

    @property
    def kind(self) -> QType | None:
        """The quantized type of the codes; None where the host has none of their element type."""
        return stored_qtype(self.element_type)

    def value(self) -> NDArray[np.float32]:
        """The weight."""
        scale, zero = self._spread(self.scale), self._spread(self.zero_point)
        # Codes of float8 are no integers, and those of int32 are no float32.
        exact = np.int64 if self.kind is not None and self.kind.is_integer else np.float32
        value: NDArray[np.float32] = (self.codes.astype(exact) - zero).astype(np.float32) * scale
        return value

    def _spread(self, values: NDArray[Any]) -> NDArray[Any]:
        if self.axis is None:
            return values
        if self.block_size:
            repeated: NDArray[Any] = np.repeat(values, self.block_size, self.axis)
            return repeated.take(range(self.codes.shape[self.axis]), self.axis)
        return values.reshape([-1 if at == self.axis else 1 for at in range(self.codes.ndim)])


def holds_constant(node: NodeProto, is_constant: Callable[[str], bool]) -> bool:
    """Whether a node computes nothing: a Constant, or a DequantizeLinear all of whose inputs are stored."""
    if node.op_type == "Constant":
        return True
    return is_native(node, "DequantizeLinear") and all(map(is_constant, filter(None, node.input)))


def stored_codes(graph: Graph, tensor: str) -> StoredCodes | None:
    """The codes that a tensor is made of, where all that makes it is constant; None for other tensors."""
    node = graph.producer(tensor)
    if node is None or not is_native(node, "DequantizeLinear"):
        return None
    arrays = [graph.array(name) if name else None for name in node.input]
    stored = graph.initializers.get(node.input[0])
    codes, scale = arrays[:2]
    if stored is None or codes is None or scale is None or not all(map(graph.is_constant, filter(None, node.input))):
        return None
    zero = arrays[2] if len(arrays) > 2 and arrays[2] is not None else np.zeros(scale.shape)
    block_size = int(attribute(node, "block_size", 0))
    axis = int(attribute(node, "axis", 1)) % codes.ndim if codes.ndim else 0
    is_list = bool(block_size) or scale.size > 1 or (scale.ndim == 1 and codes.ndim > axis and codes.shape[axis] == 1)
    if not is_list:
        scale, zero = scale.reshape(()), zero.reshape(())
    return StoredCodes(
        node,
        stored.data_type,
        codes,
        scale.astype(np.float32),
        zero.astype(np.int64),
        axis if is_list else None,
        block_size,
    )
