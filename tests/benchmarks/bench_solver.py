"""Processor seconds and asked costs of the solver on networks of 1,000 and 4,000 nodes, and the ratio of the seconds.

Shapes: `chain` Conv after Conv, biases out of reach in every one; `rare` the same with one violated bound in fifty;
`domino` a chain that is at its limit everywhere and is pushed at one end; `residual` blocks of two Convs and an Add;
`dense` each Conv reads a Concat of all before it, in blocks of twelve; `cell` random
Adds and Convs over recent tensors.
Run: python tests/benchmarks/bench_solver.py
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable

from ort_vitis_plugin.plan import Bound, Position, largest, least
from ort_vitis_plugin.solver import solve

LIMIT = 5.0
SIZES = (1000, 4000)
ROUNDS = 3  # the least seconds count


class Network:
    """Bounds, starts and costs as they are put together."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.bounds: list[Bound] = []
        self.start: dict[str, int] = {}
        self.costs: dict[str, Callable[[int], float]] = {}
        self.asked = 0

    def tensor(self, kind: str, position: int) -> str:
        name = f"{kind}{len(self.start)}"
        noise, clipping = 10 ** self.rng.uniform(-5, -4), 10 ** self.rng.uniform(-6, -4)

        def cost(p: int) -> float:
            self.asked += 1
            return float(min(noise * 4.0 ** min(position - p, 20) + clipping * 6.0 ** min(p - position, 20), 1.0))

        self.start[name], self.costs[name] = position, cost
        return name

    def conv(self, x: str, y: int, w: int, b: int) -> str:
        out, weight, bias = self.tensor("y", y), self.tensor("w", w), self.tensor("b", b)
        px, pw, pb, py = map(Position, (x, weight, bias, out))
        self.bounds += [
            Bound(pw + px - py, 0, 16, prefer=pw),
            Bound(pw + px - pb, high=15, prefer=pb),
            Bound(pb - py, high=16, prefer=pb),
        ]
        return out

    def near(self, center: int, spread: int = 2) -> int:
        return center + self.rng.randint(-spread, spread)


def chain(size: int, every: int = 1) -> Network:
    network = Network(0)
    x = network.tensor("x", 5)
    for at in range(size):
        bias = 3 if at % every == 0 else 9
        x = network.conv(x, network.near(4, 1), network.near(13, 1), bias + (at % 3 - 1) * (every == 1))
    return network


def rare(size: int) -> Network:
    return chain(size, 50)


def domino(size: int) -> Network:
    network = Network(1)
    x = network.tensor("x", 0)
    network.bounds.append(Bound(Position(x), low=3))
    for _ in range(size):
        y = network.tensor("y", 0)
        network.bounds.append(Bound(Position(y) - Position(x), 0, 16, prefer=Position(y)))
        x = y
    return network


def residual(size: int) -> Network:
    network = Network(2)
    x = network.tensor("x", 4)
    for _ in range(size // 3):
        branch = network.conv(x, network.near(4), network.near(11, 4), network.near(7, 4))
        branch = network.conv(branch, network.near(4, 5), network.near(11, 4), network.near(7, 4))
        y = network.tensor("a", network.near(4))
        px, pb, py = map(Position, (x, branch, y))
        network.bounds.append(Bound(largest(px, pb) - least(px, pb), 0, 7, prefer=largest(px, pb)))
        network.bounds.append(Bound(least(px, pb) - py, -7, 25, prefer=py))
        x = y
    return network


def dense(size: int) -> Network:
    network = Network(3)
    x = network.tensor("x", 4)
    for _ in range(size // 24):
        parts = [x]
        for _ in range(12):
            whole = network.tensor("c", network.near(4, 1))
            pairs = [(Position(part), Position(whole)) for part in parts]
            network.bounds += [Bound(p - c, 0, 0, prefer=largest(p, c)) for p, c in pairs]
            parts = [whole, network.conv(whole, network.near(4, 1), network.near(11, 3), network.near(7, 3))]
        x = network.conv(parts[0], network.near(4), network.near(11, 3), network.near(7, 3))
    return network


def cell(size: int) -> Network:
    network = Network(4)
    data = [network.tensor("x", 4) for _ in range(4)]
    while len(network.start) < size * 2:
        x, other = network.rng.sample(data[-8:], 2)
        if network.rng.random() < 0.5:
            data.append(network.conv(x, network.near(4, 3), network.near(11, 4), network.near(7, 4)))
            continue
        y = network.tensor("a", network.near(4, 6))
        pa, pb, py = map(Position, (x, other, y))
        network.bounds.append(Bound(largest(pa, pb) - least(pa, pb), 0, 7, prefer=largest(pa, pb)))
        network.bounds.append(Bound(least(pa, pb) - py, -7, 25, prefer=py))
        data.append(y)
    return network


def main() -> int:
    """Print a row per shape; 1 when a ratio is above the limit."""
    worst = 0.0
    print("shape      nodes  tensors  seconds  costs asked  moved  violated  ratio")
    for build in (chain, rare, domino, residual, dense, cell):
        seconds = []
        for size in SIZES:
            spent = []
            for _ in range(ROUNDS):
                network = build(size)
                gc.collect()
                begin = time.process_time()
                solution = solve(network.start, network.costs, (), network.bounds)
                spent.append(time.process_time() - begin)
            seconds.append(min(spent))
            moved = sum(network.start[name] != position for name, position in solution.positions.items())
            ratio = f"{seconds[1] / seconds[0]:.2f}" if len(seconds) == 2 else ""
            print(
                f"{build.__name__:9} {size:6} {len(network.start):8} {seconds[-1]:8.2f} {network.asked:12} {moved:6} "
                f"{len(solution.violations):9}  {ratio}",
                flush=True,
            )
        worst = max(worst, seconds[1] / seconds[0])
    print(f"worst ratio {worst:.2f}, limit {LIMIT}")
    return int(worst > LIMIT)


if __name__ == "__main__":
    raise SystemExit(main())
