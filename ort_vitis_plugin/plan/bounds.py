"""A hardware rule is an inequality over positions, written as the rule is: ``0 <= w + x - y <= 16``."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass


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
    position the bound is vacuous. A ``soft`` one is left unmet where it would ruin a tensor. ``rule`` and
    ``node`` are filled in by whoever collects bounds.
    """

    expression: Expression
    low: Expression | int | None = None
    high: Expression | int | None = None
    prefer: Expression | None = None
    soft: bool = True
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
        """The rule, its node, and the value that it has."""
        value = self.expression.value(positions)
        limits = " <= ".join(str(part) for part in (self.low, self.expression, self.high) if part is not None)
        return f"{self.rule} at {self.node}: {limits}, is {value}"
