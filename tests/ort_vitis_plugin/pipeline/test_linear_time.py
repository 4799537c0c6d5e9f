"""Four times the nodes are four times the work. Calls of functions are counted: seconds depend on the day.

tests/benchmarks/bench_chain.py measures seconds, up to 4,000 nodes.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import cProfile
import pstats
from itertools import product

import pytest

from ort_vitis_plugin import quantize_static
from tests.benchmarks.long_graphs import BLOCK, CONFIGURATIONS, SHAPES, OneSample

SHORT, LONG = 48, 192
LIMIT = 1.1 * LONG / SHORT


def calls(shape: str, configuration: str, nodes: int) -> int:
    model = SHAPES[shape](nodes)
    profile = cProfile.Profile()
    profile.runcall(quantize_static, model, None, OneSample(model), **CONFIGURATIONS[configuration])
    return int(pstats.Stats(profile).total_calls)


QUICK = [("chain", "NPU, CLE"), ("branches", "CPU per channel"), ("branches", "bodies too")]
SLOW = [row for row in product(SHAPES, CONFIGURATIONS) if row not in QUICK]


@pytest.mark.parametrize(
    ("shape", "configuration"), [*QUICK, *(pytest.param(*row, marks=pytest.mark.slow) for row in SLOW)]
)
def test_calls_grow_with_nodes(shape: str, configuration: str) -> None:
    calls(shape, configuration, BLOCK)  # imports and caches
    short, long = (calls(shape, configuration, nodes) for nodes in (SHORT, LONG))
    assert long < LIMIT * short
