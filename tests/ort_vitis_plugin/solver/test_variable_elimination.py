"""Elimination finds the least sum of tables, as an exhaustive search does."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from itertools import product

import numpy as np

from ort_vitis_plugin.solver.variable_elimination import LIMITS, Table, minimize


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
