"""On random graphs the solver keeps every rule, and its error is never above that of the original tool's moves."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import random

import pytest

from ort_vitis_plugin.plan import Bound
from ort_vitis_plugin.solver import solve

from .original import BLOCK, Instance, Positions, broken, fill, original, random_graph, rules, run

# --- what must hold --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "block"),
    [
        pytest.param(method, block, marks=() if block == 0 and method in ("MinMSE", "noise") else pytest.mark.slow)
        for method, blocks in {"MinMSE": 6, "NonOverflow": 2, "valleys": 2, "noise": 2}.items()
        for block in range(blocks)
    ],
)
def test_every_rule_holds_and_the_error_is_at_most_the_originals(method: str, block: int) -> None:
    compared = 0
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        rng = random.Random(seed)
        instance = fill(
            Instance(random_graph(rng, rng.randint(2, 14))), rng, spread=rng.choice((2, 6, 12)), method=method
        )
        bounds = rules(instance)
        start = dict(instance.start)
        solution = run(instance, bounds)
        assert instance.start == start
        assert solution.violations == broken(bounds, solution.positions)
        theirs = original(instance)
        if not broken(bounds, theirs):
            compared += 1
            assert not solution.violations, f"seed {seed}: the original found positions that keep all rules"
            assert instance.cost(solution.positions) <= instance.cost(theirs) * (1 + 1e-9), f"seed {seed}"
        if not broken(bounds, start):
            assert solution.positions == start
    assert compared >= BLOCK / 4


def cheapest(instance: Instance, bounds: list[Bound], window: int, ceiling: float) -> float:
    """The least cost below ``ceiling`` of all positions that keep all bounds, by trying everything; else inf."""
    names = sorted(instance.start)
    tried = {
        n: sorted(range(instance.start[n] - window, instance.start[n] + window + 1), key=instance.costs[n])
        for n in names
    }
    floor = [0.0]
    for name in reversed(names):
        floor.insert(0, floor[0] + instance.costs[name](tried[name][0]))
    ready = [[b for b in bounds if max(map(names.index, b.variables)) == at] for at in range(len(names))]
    best = float("inf")
    positions: Positions = {}

    def descend(at: int, cost: float) -> None:
        nonlocal best
        if at == len(names):
            best = min(best, cost)
            return
        for position in tried[names[at]]:
            price = cost + instance.costs[names[at]](position)
            if price + floor[at + 1] >= min(best, ceiling):
                return
            positions[names[at]] = position
            if not any(bound.excess(positions) for bound in ready[at]):
                descend(at + 1, price)

    descend(0, 0.0)
    return best


@pytest.mark.parametrize("method", ["MinMSE", "valleys"])
@pytest.mark.parametrize(
    "seeds", [range(30), pytest.param(range(30, 250), marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_tiny_graphs_get_the_best_positions_of_all(seeds: range, method: str) -> None:
    tried = missed = 0
    for seed in seeds:
        rng = random.Random(10_000 + seed)
        instance = fill(Instance(random_graph(rng, rng.randint(1, 3))), rng, spread=rng.choice((4, 9)), method=method)
        bounds = rules(instance)
        if len(instance.start) > 5 or not broken(bounds, instance.start):
            continue
        solution = run(instance, bounds)
        ours = instance.cost(solution.positions)
        better = cheapest(instance, bounds, 12, ours * (1 - 1e-9) if not solution.violations else float("inf"))
        tried += 1
        missed += better < float("inf")
    print(f"\n{method}: best of all in {tried - missed} of {tried}")
    assert tried >= 0.4 * len(seeds)
    assert missed == 0


@pytest.mark.parametrize("method", ["MinMSE", "valleys", "NonOverflow"])
def test_order_and_names_do_not_change_the_cost(method: str) -> None:
    for seed in range(30):
        rng = random.Random(20_000 + seed)
        instance = fill(Instance(random_graph(rng, rng.randint(2, 8))), rng, spread=6, method=method)
        bounds = rules(instance)
        expected = run(instance, bounds)
        mixed = list(bounds)
        if method != "NonOverflow":  # off the optimum, the order tells what the original would touch at all
            rng.shuffle(mixed)
        names = list(instance.start)
        rng.shuffle(names)
        shuffled = solve({name: instance.start[name] for name in names}, instance.costs, (), mixed)
        assert len(shuffled.violations) == len(expected.violations), f"seed {seed}"
        assert instance.cost(shuffled.positions) == pytest.approx(instance.cost(expected.positions), rel=1e-9), seed


def test_fixed_tensors_stay_and_the_others_find_the_best_around_them() -> None:
    held = 0
    for seed in range(150):
        rng = random.Random(30_000 + seed)
        instance = fill(Instance(random_graph(rng, rng.randint(1, 2))), rng, spread=5)
        bounds = rules(instance)
        instance.fixed = set(rng.sample(instance.tensors, rng.randint(1, 2)))
        if len(instance.start) > 5 or not broken(bounds, instance.start):
            continue
        solution = run(instance, bounds)
        assert all(solution.positions[name] == instance.start[name] for name in instance.fixed)
        for name in instance.fixed:  # to the exhaustive search, any other position is infinitely dear
            at = instance.start[name]
            instance.costs[name] = lambda p, at=at: 0.0 if p == at else float("inf")
        ours = float("inf") if solution.violations else instance.cost(solution.positions) * (1 - 1e-9)
        assert cheapest(instance, bounds, 12, ours) == float("inf"), f"seed {seed}"
        held += 1
    assert held >= 50
