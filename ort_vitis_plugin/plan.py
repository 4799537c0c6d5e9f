"""What will be quantized, and how: tensors, their parameters, who shares with whom, and bounds on positions."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from .numerics import position_of, scale_of

if TYPE_CHECKING:
    from onnx import NodeProto

    from .graph import Graph
    from .types import QType


class Role(Enum):
    """How a tensor takes part: data that flows, a constant operand, or a bias."""

    ACTIVATION = "activation"
    WEIGHT = "weight"
    BIAS = "bias"


class Curve(Protocol):
    """A tensor's squared error as a function of its position."""

    def best(self) -> int:
        """The position of least error; of equal ones the larger step."""
        ...

    def error(self, position: int) -> float:
        """Squared error at 2^-position over the tensor's energy."""
        ...

    def zero_point(self, position: int) -> int:
        """The zero point that goes with the position."""
        ...


@dataclass(frozen=True)
class Int32Bias:
    """The bias of ``node`` has scale x * w * beta, so that the accumulator takes it as it is."""

    node: str
    x: str
    w: str
    beta: float = 1.0


@dataclass
class Conversion:
    """Some consumers read the tensor in another type (mixed precision): their parameters and names."""

    kind: QType
    scale: NDArray[np.float32]
    zero_point: NDArray[np.int64]
    receivers: frozenset[str] | None = None


@dataclass
class TensorPlan:
    """One tensor: its type and parameters. ``scale`` and ``zero_point`` are scalars, or [C] along ``axis``."""

    name: str
    role: Role
    kind: QType
    scale: NDArray[np.float32]
    zero_point: NDArray[np.int64]
    axis: int | None = None
    curve: Curve | None = None
    fixed: bool = False
    derived: Int32Bias | None = None
    conversion: Conversion | None = None

    @property
    def position(self) -> int | None:
        """p where the scale is the scalar 2^-p, else None."""
        return position_of(float(self.scale)) if self.scale.ndim == 0 and self.derived is None else None

    def move(self, position: int) -> None:
        """Take step 2^-position and the zero point that goes with it."""
        self.scale = np.asarray(scale_of(position), dtype=np.float32)
        if self.curve is not None:
            self.zero_point = np.asarray(self.curve.zero_point(position), dtype=np.int64)


class Expression:
    """Arithmetic over positions, written as the rule is: ``w + x - y``."""

    variables: tuple[str, ...] = ()

    def value(self, positions: Mapping[str, int]) -> int | None:
        """The number, or None where a tensor has no position."""
        raise NotImplementedError

    def __add__(self, other: Expression | int) -> Expression:
        return Combination(self, _expression(other), 1)

    def __radd__(self, other: int) -> Expression:
        return Combination(_expression(other), self, 1)

    def __sub__(self, other: Expression | int) -> Expression:
        return Combination(self, _expression(other), -1)

    def __rsub__(self, other: int) -> Expression:
        return Combination(_expression(other), self, -1)


class Position(Expression):
    """The position of one tensor, or of nothing where the tensor is not quantized."""

    def __init__(self, name: str | None) -> None:
        self.name = name
        self.variables = (name,) if name is not None else ()

    def value(self, positions: Mapping[str, int]) -> int | None:
        return None if self.name is None else positions.get(self.name)

    def __str__(self) -> str:
        return f"pos({self.name})"


class Constant(Expression):
    """A number."""

    def __init__(self, number: int) -> None:
        self.number = number

    def value(self, positions: Mapping[str, int]) -> int | None:
        return self.number

    def __str__(self) -> str:
        return str(self.number)


class Combination(Expression):
    """left + sign * right."""

    def __init__(self, left: Expression, right: Expression, sign: int) -> None:
        self.left, self.right, self.sign = left, right, sign
        self.variables = tuple(dict.fromkeys(left.variables + right.variables))

    def value(self, positions: Mapping[str, int]) -> int | None:
        left, right = self.left.value(positions), self.right.value(positions)
        return None if left is None or right is None else left + self.sign * right

    def __str__(self) -> str:
        return f"{self.left} {'+' if self.sign > 0 else '-'} {self.right}"


class Extreme(Expression):
    """The least (or largest) of several, of those that have a position."""

    def __init__(self, pick: Callable[[Iterable[int]], int], parts: Iterable[Expression]) -> None:
        self.pick, self.parts = pick, tuple(parts)
        self.variables = tuple(dict.fromkeys(name for part in self.parts for name in part.variables))

    def value(self, positions: Mapping[str, int]) -> int | None:
        known = [value for part in self.parts if (value := part.value(positions)) is not None]
        return self.pick(known) if known else None

    def __str__(self) -> str:
        return f"{self.pick.__name__}({', '.join(map(str, self.parts))})"


def least(*parts: Expression) -> Expression:
    """The least of several expressions."""
    return Extreme(min, parts)


def largest(*parts: Expression) -> Expression:
    """The largest of several expressions."""
    return Extreme(max, parts)


def _expression(value: Expression | int) -> Expression:
    return value if isinstance(value, Expression) else Constant(value)


@dataclass
class Bound:
    """low <= expression <= high. ``prefer`` is the tensor that the original tool would move.

    Limits may be expressions too (a limit that depends on another shift). Where a tensor has no
    position the bound is vacuous. A bound that ``gives_way`` is left unmet where it would ruin a tensor. ``rule`` and
    ``node`` are filled in by whoever collects bounds.
    """

    expression: Expression
    low: Expression | int | None = None
    high: Expression | int | None = None
    prefer: Expression | None = None
    gives_way: bool = False
    rule: str = ""
    node: str = ""

    def __post_init__(self) -> None:
        limits = [limit for limit in (self.low, self.high) if isinstance(limit, Expression)]
        names = self.expression.variables + tuple(name for limit in limits for name in limit.variables)
        self.variables: tuple[str, ...] = tuple(dict.fromkeys(names))

    def excess(self, positions: Mapping[str, int]) -> int:
        """How far outside: negative below ``low``, positive above ``high``, 0 where it holds."""
        value = self.expression.value(positions)
        if value is None:
            return 0
        low = self.low.value(positions) if isinstance(self.low, Expression) else self.low
        high = self.high.value(positions) if isinstance(self.high, Expression) else self.high
        if low is not None and value < low:
            return value - low
        if high is not None and value > high:
            return value - high
        return 0

    def describe(self, positions: Mapping[str, int]) -> str:
        value = self.expression.value(positions)
        limits = " <= ".join(str(part) for part in (self.low, self.expression, self.high) if part is not None)
        return f"{self.rule} at {self.node}: {limits}, is {value}"


@dataclass(frozen=True)
class Move:
    """A tensor whose position a rule changed."""

    tensor: str
    before: int
    after: int
    rules: tuple[str, ...]


@dataclass
class Plan:
    """Every tensor that gets a quantize/dequantize pair. Tensors of one group have one set of parameters.

    ``fused`` leads from a tensor inside one device operation to the tensor that operation writes; ``removed`` are
    nodes that saturation replaces; ``bounds`` hold whatever the target.
    """

    graph: Graph
    tensors: dict[str, TensorPlan] = field(default_factory=dict)
    provider: dict[str, str] = field(default_factory=dict)
    fused: dict[str, str] = field(default_factory=dict)
    removed: dict[str, NodeProto] = field(default_factory=dict)
    bounds: list[Bound] = field(default_factory=list)

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

    def copy(self) -> Plan:
        """A plan that can be edited without touching this one (curves are shared: they do not change)."""
        from dataclasses import replace

        return Plan(
            self.graph,
            {name: replace(tensor) for name, tensor in self.tensors.items()},
            dict(self.provider),
            dict(self.fused),
            dict(self.removed),
            list(self.bounds),
        )
