"""Random graphs with real curves of errors, the rules on their positions, and the moves of the original tool."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from ort_vitis_plugin.plan import Bound, Position, largest, least
from ort_vitis_plugin.sketch import Sketch
from ort_vitis_plugin.solver import Solution, solve

LOW, HIGH = -60, 60
BLOCK = 50  # graphs of one test
Positions = dict[str, int]


# --- graphs: what each op reads and writes ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Node:
    op: str
    inputs: tuple[str, ...]
    output: str
    leaky: bool = False


@dataclass
class Instance:
    nodes: list[Node]
    start: Positions = field(default_factory=dict)
    costs: dict[str, Callable[[int], float]] = field(default_factory=dict)
    fixed: set[str] = field(default_factory=set)

    @property
    def tensors(self) -> list[str]:
        return list(dict.fromkeys(name for node in self.nodes for name in (*node.inputs, node.output)))

    def cost(self, positions: Positions) -> float:
        return sum(cost(positions[name]) for name, cost in self.costs.items())


def random_graph(rng: random.Random, size: int) -> list[Node]:
    nodes: list[Node] = []
    data = ["x0"]

    def put(op: str, *inputs: str, leaky: bool = False) -> str:
        output = f"t{len(nodes)}"
        nodes.append(Node(op, inputs, output, leaky))
        data.append(output)
        return output

    while len(nodes) < size:
        at = len(nodes)
        op = rng.choice(("Conv", "Conv", "Conv", "Gemm", "Add", "Mul", "Concat", "MaxPool", "AveragePool", "Swish"))
        recent = data[-4:]
        if op in ("Conv", "Gemm"):
            weights = rng.choice([node.inputs[1] for node in nodes if node.op == op] or [f"w{at}"])
            inputs = (rng.choice(recent), weights if rng.random() < 0.1 else f"w{at}", f"b{at}")
            put(op, *inputs[: rng.choice((2, 3, 3))], leaky=rng.random() < 0.2)
        elif op in ("Add", "Mul"):
            put(op, rng.choice(recent), rng.choice(data))
        elif op == "Concat":
            put(op, *(rng.choice(data) for _ in range(rng.randint(2, 4))))
        elif op == "Swish":
            x = rng.choice(recent)
            put("Mul", x, put("HardSigmoid", x))
        else:
            put(op, rng.choice(recent))
    return nodes


# --- curves: real errors of int8 at each position --------------------------------------------------------------------


@cache
def curves() -> list[list[float]]:
    """Relative squared errors of arrays of many kinds at positions LOW..HIGH."""
    rng = np.random.default_rng(0)
    kinds: list[Callable[[int], np.ndarray]] = [
        lambda n: rng.normal(size=n),
        lambda n: rng.laplace(size=n),
        lambda n: np.maximum(rng.normal(size=n), 0),
        lambda n: rng.uniform(-1, 1, n),
        lambda n: rng.standard_t(2, size=n),
        lambda n: rng.integers(0, 2, n).astype(float),
        lambda n: np.where(rng.random(n) < 0.01, 60.0, 1.0) * rng.normal(size=n),
        lambda n: rng.normal(size=n) * np.exp2(rng.integers(-12, 3, n)),
        lambda n: np.full(n, rng.normal()),
        lambda n: rng.normal(size=3),
    ]
    result = []
    for kind in kinds:
        for size in (40, 3000):
            sketch = Sketch()
            sketch.add(kind(size).astype(np.float32))
            errors = sketch.squared_error(np.arange(LOW, HIGH + 1), -128, 127) / sketch.sum_squares
            result.append([float(error) for error in errors])
    result.append([0.0] * (HIGH - LOW + 1))  # a tensor that is zero everywhere
    return result


def valleys(rng: random.Random) -> list[float]:
    """A curve with two or three valleys, at most four positions apart."""
    wells = [(rng.randint(-2, 2), rng.random() / 10, rng.choice((0.02, 0.1, 0.3))) for _ in range(rng.randint(2, 3))]
    return [min(depth + steep * abs(p - at) for at, depth, steep in wells) for p in range(LOW, HIGH + 1)]


def noise(rng: random.Random) -> list[float]:
    """A curve of no shape at all."""
    return [round(rng.random() * abs(position) ** rng.choice((0.5, 1, 2)), 3) for position in range(LOW, HIGH + 1)]


def fill(instance: Instance, rng: random.Random, *, spread: int, method: str = "MinMSE") -> Instance:
    """Give each tensor a curve moved by up to ``spread`` positions, and the start that the method takes."""
    for name in instance.tensors:
        made = {"valleys": valleys, "noise": noise}.get(method)
        curve = made(rng) if made else rng.choice(curves())
        shift = rng.randint(-spread, spread) + (3 if name[0] in "wb" else 0)

        def cost(position: int, curve: list[float] = curve, shift: int = shift) -> float:
            return curve[min(max(position - shift - LOW, 0), HIGH - LOW)]

        instance.costs[name] = cost
        best = min(range(LOW // 2, HIGH // 2 + 1), key=cost)
        instance.start[name] = best - (rng.randint(0, 2) if method == "NonOverflow" else 0)
        if any(curve) is False:
            instance.start[name] = 7
    return instance


# --- the rules, and the original's moves -----------------------------------------------------------------------------


def rules(instance: Instance) -> list[Bound]:
    found: list[Bound] = []
    for rule in (read, write, cut, bias, hard_sigmoid, swish, concat, pool):
        for node in instance.nodes:
            for bound in rule(instance, node):
                bound.rule, bound.node = rule.__name__, node.output
                found.append(bound)
    return found


def terms(node: Node) -> tuple[list[Position], Position]:
    return [Position(name) for name in node.inputs], Position(node.output)


def read(instance: Instance, node: Node) -> Iterator[Bound]:
    if node.op == "Add":
        x, _ = terms(node)
        yield Bound(largest(*x) - least(*x), 0, 7, prefer=largest(*x))


def write(instance: Instance, node: Node) -> Iterator[Bound]:
    x, y = terms(node)
    if node.op == "Add":
        yield Bound(least(*x) - y, -7, 25, prefer=y)
    if node.op == "Mul":
        yield Bound(x[0] + x[1] - y, 0, 32, prefer=y)


def cut(instance: Instance, node: Node) -> Iterator[Bound]:
    if node.op in ("Conv", "Gemm"):
        (x, w, *_), y = terms(node)
        yield Bound(w + x - y, 0, 16, prefer=w)


def bias(instance: Instance, node: Node) -> Iterator[Bound]:
    if node.op in ("Conv", "Gemm") and len(node.inputs) > 2:
        (x, w, b), y = terms(node)
        yield Bound(w + x - b, high=15, prefer=b)
        yield Bound(w + x - b, low=0, prefer=b) if node.leaky else Bound(b - y, high=16, prefer=b)


def hard_sigmoid(instance: Instance, node: Node) -> Iterator[Bound]:
    if node.op == "HardSigmoid":
        (x,), y = terms(node)
        yield Bound(x, 0, 15, prefer=x)
        yield Bound(y, low=7, prefer=y)
        yield Bound(14 + x - y, 0, 31, prefer=y)


def is_swish(instance: Instance, node: Node) -> bool:
    gates = [other for other in instance.nodes if other.op == "HardSigmoid" and other.output in node.inputs]
    return node.op == "Mul" and any(gate.inputs[0] in node.inputs for gate in gates)


def swish(instance: Instance, node: Node) -> Iterator[Bound]:
    if is_swish(instance, node):
        x, y = terms(node)
        yield Bound(x[0] + x[1] - y, 0, 15, prefer=y)


def concat(instance: Instance, node: Node) -> Iterator[Bound]:
    if node.op == "Concat":
        x, y = terms(node)
        for part in x:
            yield Bound(part - y, 0, 0, prefer=largest(part, y))


def pool(instance: Instance, node: Node) -> Iterator[Bound]:
    if node.op in ("MaxPool", "AveragePool"):
        (x,), y = terms(node)
        yield Bound(x - y, 0, 0, prefer=largest(x, y))


def clamp(value: int, low: int, high: int) -> int:
    return min(max(value, low), high)


def original(instance: Instance) -> Positions:
    """The end state of the original tool: each rule in turn moves one tensor, the whole list twice."""
    p = dict(instance.start)

    def read_moves(node: Node) -> None:
        values = [p[name] for name in node.inputs]
        if node.op == "Add" and max(values) - min(values) > 7:
            p[node.inputs[values.index(max(values))]] = min(values) + 7

    def write_moves(node: Node) -> None:
        values = [p[name] for name in node.inputs]
        if node.op == "Add":
            p[node.output] = min(values) - clamp(min(values) - p[node.output], -7, 25)
        if node.op == "Mul":
            p[node.output] = sum(values) - clamp(sum(values) - p[node.output], 0, 32)

    def cut_moves(node: Node) -> None:
        if node.op in ("Conv", "Gemm"):
            x, w = node.inputs[:2]
            p[w] = clamp(p[w] + p[x] - p[node.output], 0, 16) + p[node.output] - p[x]

    def bias_moves(node: Node) -> None:
        if node.op in ("Conv", "Gemm") and len(node.inputs) > 2:
            x, w, b = node.inputs
            low = 0 if node.leaky else min(0, -(24 - (8 + p[w] + p[x] - p[node.output])))
            p[b] = p[w] + p[x] - clamp(p[w] + p[x] - p[b], low, 15)

    def hard_sigmoid_moves(node: Node) -> None:
        if node.op == "HardSigmoid":
            x, y = node.inputs[0], node.output
            p[x] = clamp(p[x], 0, 15)
            p[y] = max(p[y], 7)
            if 14 + p[x] - p[y] <= 0:
                p[y] = 14 + p[x]

    def swish_moves(node: Node) -> None:
        if is_swish(instance, node):
            total = p[node.inputs[0]] + p[node.inputs[1]]
            p[node.output] = total - clamp(total - p[node.output], 0, 15)

    def align_moves(*ops: str) -> Callable[[Node], None]:
        def align(node: Node) -> None:
            if node.op in ops:
                names = (*node.inputs, node.output)
                p.update(dict.fromkeys(names, min(p[name] for name in names)))

        return align

    steps = [read_moves, write_moves, cut_moves, bias_moves, hard_sigmoid_moves, swish_moves]
    for _ in range(2):
        for step in (*steps, align_moves("Concat"), align_moves("MaxPool", "AveragePool")):
            for node in instance.nodes:
                step(node)
    return p


def broken(bounds: list[Bound], positions: Positions) -> list[str]:
    return [bound.describe(positions) for bound in bounds if bound.excess(positions)]


def run(instance: Instance, bounds: list[Bound] | None = None) -> Solution:
    return solve(instance.start, instance.costs, instance.fixed, rules(instance) if bounds is None else bounds)
