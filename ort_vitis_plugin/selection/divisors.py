"""A divisor that codes would round to zero stays float: the quotient would be infinite, or follow an epsilon alone.

So does what a logarithm reads, and on the way there what is added, multiplied, moved, or goes through a root.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..graph import DEFAULT_DOMAINS
from ..graph.edit import clip_bounds
from .masks_and_fills import KEEPS

if TYPE_CHECKING:
    from onnx import NodeProto

    from ..calibration.statistics import Statistics
    from ..graph import Graph
    from ..plan import Plan

# The input of which a zero makes an infinity, by op type.
DIVISORS = {"Div": 1, "Reciprocal": 0, "Log": 0}
KEEPS_ZERO = KEEPS | {"Sqrt", "Abs", "Pow", "Div"}
SUMS = ("Add", "Sub")
JOINS = frozenset({"Concat", "Mul", *SUMS})
REASON = "{name} stays float: codes would round {least:.3g} to zero, and {node} ({op_type}) would make it infinite"


def ends_in_infinity(graph: Graph, tensor: str, *values: float) -> bool:
    """Whether one of these values in the tensor makes an infinity: a divisor, or what a logarithm reads, is then 0."""
    waiting, seen = [(tensor, frozenset(values))], {(tensor, frozenset(values))}
    while waiting:
        name, held = waiting.pop()
        for reader in graph.consumers(name):
            if reader.domain not in DEFAULT_DOMAINS:
                continue
            if 0.0 in held and reader.op_type in DIVISORS and reader.input[DIVISORS[reader.op_type]] == name:
                return True
            after = _held_behind(graph, reader, name, held)
            if math.inf in after:
                return True
            found = {(output, after) for output in reader.output if output and after} - seen
            waiting += found
            seen |= found
    return False


def _held_behind(graph: Graph, node: NodeProto, name: str, held: frozenset[float]) -> frozenset[float]:
    """What becomes of values of one input, where that follows from them and from constants."""
    if node.op_type in KEEPS and node.input[0] == name:
        return held
    if node.op_type in ALONE:
        return frozenset(ALONE[node.op_type](value) for value in held)
    if node.op_type == "Clip":
        low, high = clip_bounds(graph, node)
        return frozenset() if low is None or high is None else frozenset(min(max(value, low), high) for value in held)
    if node.op_type not in WITH_CONSTANT or len(node.input) != 2:
        return frozenset()
    others = [_uniform(graph, other) if other != name else None for other in node.input]
    if others.count(None) == 1:
        compute = WITH_CONSTANT[node.op_type]
        return frozenset(compute(*(value if other is None else other for other in others)) for value in held)
    keeps_zero = node.op_type == "Mul" or (node.op_type == "Div" and node.input[0] == name)
    return held & {0.0} if keeps_zero else frozenset()


def _uniform(graph: Graph, tensor: str) -> float | None:
    """The one value of a constant."""
    array = graph.array(tensor) if graph.is_constant(tensor) else None
    if array is None or not array.size or array.min() != array.max():
        return None
    return float(array.flat[0])


def _power(value: float, exponent: float) -> float:
    if value == 0:
        return math.inf if exponent < 0 else 0.0
    return 1.0 if value == 1 else math.nan


ALONE: dict[str, Callable[[float], float]] = {
    "Abs": abs,
    "Neg": lambda value: 0.0 - value,
    "Sqrt": lambda value: math.sqrt(max(value, 0.0)),
}
WITH_CONSTANT: dict[str, Callable[[float, float], float]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Div": lambda a, b: a / b if b else math.inf,
    "Max": max,
    "Min": min,
    "Pow": _power,
}


def keep_divisors(plan: Plan, statistics: Statistics, note: Callable[[str], None]) -> None:
    """Take divisors that would vanish out of the plan; what shared their scale keeps one of its own."""
    for name, (node, least) in _Divisors(plan.graph, statistics).found.items():
        planned = plan.of(name)
        if planned is None or not planned.kind.is_integer or least > float(planned.scale.max()) / 2:
            continue
        del plan.tensors[name]
        for other in [other for other, provider in plan.provider.items() if name in (other, provider)]:
            del plan.provider[other]
        why = REASON.format(name=name, least=least, node=node.name, op_type=node.op_type)
        plan.record(name, why)
        note(why)


class _Divisors:
    """Tensors that reach a division or logarithm: that node, and the magnitude that rounding must not swallow."""

    def __init__(self, graph: Graph, statistics: Statistics) -> None:
        self.graph, self.statistics = graph, statistics
        self.found: dict[str, tuple[NodeProto, float]] = {}
        for node in self.graph:
            if node.op_type in DIVISORS and node.domain in DEFAULT_DOMAINS:
                divisor = node.input[DIVISORS[node.op_type]]
                self._walk(node, divisor, self._least(divisor))

    def _walk(self, node: NodeProto, divisor: str, least: float) -> None:
        waiting = [(divisor, least)]
        while waiting:
            name, least = waiting.pop()
            if name in self.found and self.found[name][1] <= least:
                continue
            self.found[name] = node, least
            maker = self.graph.producer(name)
            if maker is None or maker.domain not in DEFAULT_DOMAINS:
                continue
            before = maker.input if maker.op_type in JOINS else maker.input[: maker.op_type in KEEPS_ZERO]
            # A sum vanishes when an addend loses as much as the sum holds, a product when a factor vanishes.
            waiting += [(tensor, least if maker.op_type in SUMS else self._least(tensor)) for tensor in before]

    def _least(self, name: str) -> float:
        """The least magnitude in the samples, or of the constant, that is not zero; infinite where none is known."""
        array = self.graph.array(name) if self.graph.is_constant(name) else None
        if array is not None:
            reach = np.abs(array.astype(np.float64))
        elif (sketch := self.statistics.get(name)) is not None:
            view = sketch.view
            reach = np.where(view.mean == 0, 0.0, np.minimum(np.abs(view.low), np.abs(view.high)))
        else:
            return math.inf
        return float(reach[reach > 0].min(initial=math.inf))
