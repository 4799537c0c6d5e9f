"""Which tensors of which nodes are to be quantized, before anything is known of their parameters."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnx import NodeProto

    from ..graph import Graph
    from .tensor import Int32Bias, Role

Override = Mapping[str, Any]


@dataclass(frozen=True)
class TensorMark:
    """One tensor: its part, the axis of its channels (None: one scale), and the tensor whose parameters it takes."""

    role: Role
    axis: int | None = None
    provider: str | None = None


@dataclass(frozen=True)
class Marks:
    """What the operators of a graph ask for.

    ``tensors`` and ``biases`` come in the order in which the nodes named them; ``nodes`` are the selected ones, by
    name; ``removable`` are activations that saturation may replace; ``overrides`` is what the caller states of a
    tensor, channel by channel; with ``dedicated_pairs`` every reader of a tensor has a pair of its own.
    """

    graph: Graph
    nodes: Mapping[str, NodeProto]
    tensors: Mapping[str, TensorMark]
    biases: Mapping[str, Int32Bias]
    removable: Sequence[NodeProto] = ()
    overrides: Mapping[str, Sequence[Override]] = field(default_factory=dict)
    dedicated_pairs: bool = False
