"""No method of onnxruntime gives a range that is worse in our pipeline than in its own; a page says how they are."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import onnxruntime
import pytest

from .methods_table import IN_FLOAT8, METHODS, NAMES, PAGE, TRAINED, row

RECENT = tuple(map(int, onnxruntime.__version__.split(".")[:2])) >= (1, 32)
pytestmark = pytest.mark.skipif(not RECENT, reason="the table is about onnxruntime 1.32")

SLACK = 1.0  # decibels within which two definitions are alike on one network
QUICK: dict[str, tuple[str, ...]] = {
    "depthwise": ("Entropy", "Distribution"),
    "products": ("MinMax", "Percentile", "Entropy", "Distribution", IN_FLOAT8),
}


def measured(name: str) -> object:
    return pytest.param(name, tuple(METHODS), marks=pytest.mark.slow)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "methods"), [*QUICK.items(), *map(measured, NAMES)])
def test_ours_is_as_near_to_float(name: str, methods: tuple[str, ...]) -> None:
    found = row(name, methods, rejected=False).pairs
    assert {method: pair for method, pair in found.items() if pair[1] < pair[0] - SLACK} == {}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["products", "depthwise", "filters"])
def test_what_was_rejected_is_worse(name: str) -> None:
    found = row(name, ("Entropy", "Distribution"))
    assert found.rejected["three deviations"] < found.pairs["Distribution"][1]


def test_ten_networks_and_trained_ones_are_listed() -> None:
    assert len(NAMES) - len(TRAINED) == 10
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    assert [name for name in NAMES if not any(line.startswith(f"| {name} |") for line in lines)] == []
