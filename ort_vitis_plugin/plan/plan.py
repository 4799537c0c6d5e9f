"""All tensors that get a pair, who shares parameters with whom, and which pairs vanish inside the device."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from .bounds import Bound, Position

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import NodeProto

    from ..graph import Graph
    from .tensor import Int32Bias, TensorPlan


@dataclass(frozen=True)
class Move:
    """A tensor whose position a rule changed.

    ``costly``: what its error grew by is more than half of any tensor's error before, as errors count for the outputs.
    """

    tensor: str
    before: int
    after: int
    rules: tuple[str, ...]
    costly: bool = False


@dataclass
class Plan:
    """Every tensor that gets a quantize/dequantize pair. Tensors of one group have one set of parameters.

    ``fused`` leads from a tensor inside one device operation to the tensor that operation writes; ``removed`` are
    nodes that saturation replaces; ``bounds`` hold whatever the target. ``range_source`` leads from a tensor to the one
    whose range it takes; ``changes`` says what happened to a tensor once it was planned.
    ``float_readers`` read what is float as it is. ``received`` are the parameters of tensors that flow in as codes.
    """

    graph: Graph
    tensors: dict[str, TensorPlan] = field(default_factory=dict)
    provider: dict[str, str] = field(default_factory=dict)
    fused: dict[str, str] = field(default_factory=dict)
    removed: dict[str, NodeProto] = field(default_factory=dict)
    bounds: list[Bound] = field(default_factory=list)
    range_source: dict[str, str] = field(default_factory=dict)
    changes: dict[str, list[str]] = field(default_factory=dict)
    float_readers: frozenset[str] = frozenset()
    received: dict[str, TensorPlan] = field(default_factory=dict)

    def __iter__(self) -> Iterator[TensorPlan]:
        return iter(self.tensors.values())

    def __contains__(self, tensor: str) -> bool:
        return tensor in self.tensors

    def leader(self, tensor: str) -> str:
        """The tensor whose parameters this one uses."""
        seen = tensor
        while seen in self.provider:
            seen = self.provider[seen]
        return seen

    def share(self, tensor: str, provider: str) -> None:
        """Let ``tensor`` use the parameters of ``provider``."""
        mine, theirs = self.leader(tensor), self.leader(provider)
        if mine != theirs:
            self.provider[mine] = theirs

    def of(self, tensor: str) -> TensorPlan | None:
        """The plan that holds the parameters of ``tensor``."""
        return self.tensors.get(self.leader(tensor)) if tensor in self.tensors else None

    def read_by(self, reader: str, tensor: str) -> TensorPlan | None:
        """The parameters in which the node called ``reader`` reads ``tensor``."""
        own = self.tensors.get(tensor)
        if own is None:
            return self.received.get(tensor)
        return own.converted_for(reader) or self.of(tensor)

    def product_scale(self, bias: Int32Bias) -> NDArray[np.float64] | None:
        """The scale x * w * beta of an int32 bias, as its node reads x: a scalar, or one entry for each
        output channel; None where an operand has none."""
        x, w = self.read_by(bias.node, bias.x), self.of(bias.w)
        if x is None or w is None:
            return None
        return np.asarray(x.scale, np.float64) * np.asarray(w.scale, np.float64) * bias.beta

    def position(self, tensor: str) -> Position:
        """The position of a tensor as a term of a rule."""
        tensor = self.fused_end(tensor)
        planned = self.of(tensor) if tensor else None
        return Position(planned.name if planned is not None and planned.position is not None else None)

    def positions(self, *tensors: str) -> list[Position]:
        return [self.position(tensor) for tensor in tensors]

    def bias_of(self, node: NodeProto) -> str:
        """The tensor that holds the third input of a Conv or Gemm ('' where there is none)."""
        return node.input[2] if len(node.input) > 2 else ""

    def fused_end(self, tensor: str) -> str:
        """The tensor that the device writes for ``tensor``: behind simulation factors and fused activations."""
        while True:
            following = self.graph.device_output.get(tensor) or self.fused.get(tensor)
            if following is None:
                return tensor
            tensor = following

    def output_of(self, node: NodeProto) -> str:
        """The tensor that the device writes for this node."""
        return self.fused_end(node.output[0])

    def current(self) -> dict[str, int]:
        """Positions of all groups that have one, by leader."""
        return {
            name: position
            for name, tensor in self.tensors.items()
            if name not in self.provider and (position := tensor.position) is not None
        }

    def record(self, tensor: str, change: str) -> None:
        """Write down what happened to a tensor, for its story in the report."""
        self.changes.setdefault(tensor, []).append(change)

    def copy(self) -> Plan:
        """A plan that can be edited without touching this one (curves are shared: they do not change)."""
        return Plan(
            self.graph,
            {name: replace(tensor) for name, tensor in self.tensors.items()},
            dict(self.provider),
            dict(self.fused),
            dict(self.removed),
            list(self.bounds),
            dict(self.range_source),
            {name: list(changes) for name, changes in self.changes.items()},
            self.float_readers,
            self.received,
        )
