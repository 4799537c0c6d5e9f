"""Elimination finds the least sum of tables, as an exhaustive search does."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from ort_vitis_plugin.solver import variable_elimination
from ort_vitis_plugin.solver.variable_elimination import LIMITS, PASSES, Table, minimize


def dense_tables(rng: np.random.Generator, variables: int, size: int) -> list[Table]:
    scopes = [(a, b) for a in range(variables) for b in range(a + 1, variables)]
    return [Table(scope, np.stack([rng.random((size, size)), np.zeros((size, size))])) for scope in scopes]


def test_elimination_gives_the_least_sum() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        tables = dense_tables(rng, 4, 4)
        sums = {at: sum(table.at(at)[0] for table in tables) for at in product(range(4), repeat=4)}
        assert tuple(minimize([4] * 4, tables, [0] * 4)) == min(sums, key=lambda at: sums[at])


def test_equal_costs_are_decided_by_the_second_value() -> None:
    tables = [Table((0, 1), np.zeros((2, 5, 5)))]
    tables += [Table((at,), np.array([np.zeros(5), np.abs(np.arange(5.0) - want)])) for at, want in ((0, 3), (1, 2))]
    assert minimize([5, 5], tables, [0, 0]) == [3, 2]


def test_what_is_too_wide_for_one_table_only_improves() -> None:
    rng = np.random.default_rng(6)
    tables = dense_tables(rng, 14, 6)
    assert LIMITS[1] < 6**14
    known = [int(value) for value in rng.integers(0, 6, 14)]

    def total(values: list[int]) -> float:
        return float(sum(table.at(values)[0] for table in tables))

    found = minimize([6] * 14, tables, known)
    assert total(found) < total(known)
    for variable, value in product(range(14), range(6)):
        single = [*found[:variable], value, *found[variable + 1 :]]
        assert total(found) <= total(single) + 1e-9


def test_what_fits_one_table_is_solved_exactly() -> None:
    """A small part has tables of a million entries; whoever held a variable of this one would end elsewhere."""
    cost = np.random.default_rng(7).random((40, 40, 40))
    found = minimize([40] * 3, [Table((0, 1, 2), np.stack([cost, np.zeros_like(cost)]))], [0] * 3)
    assert tuple(found) == np.unravel_index(cost.argmin(), cost.shape)


@pytest.mark.parametrize(("variables", "passes"), [(2, max(PASSES)), (1000, min(PASSES))])
def test_a_small_part_is_searched_longer(variables: int, passes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    class OneStep(variable_elimination._Elimination):
        """A pass that goes one step down, and holds a variable for the next one."""

        def run(self, known: Sequence[int], turns: Counter[int]) -> list[int]:
            self.values = [known[0] - 1, *known[1:]]
            return [0]

    monkeypatch.setattr(variable_elimination, "_Elimination", OneStep)
    slope = Table((0,), np.array([np.arange(100.0), np.zeros(100)]))
    assert minimize([100] * variables, [slope], [99] + [0] * (variables - 1))[0] == 99 - passes
