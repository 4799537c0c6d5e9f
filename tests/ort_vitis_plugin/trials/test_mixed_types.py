"""The fewest tensors that reach a goal get the wider type, found by doubling, halving and taking back."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from onnxruntime.quantization import QuantType

from ort_vitis_plugin.request.change import OPTIONS, Change
from ort_vitis_plugin.request.renames import OVERRIDES
from ort_vitis_plugin.trials.mixed_types import fewest, raised
from ort_vitis_plugin.trials.trial import Trial

TENSORS = [f"t{number}" for number in range(16)]


class Search:
    """Attempts are sets of tensors; the goal is reached where all the needed ones are in."""

    def __init__(self, needed: set[str], most: int = 100) -> None:
        self.needed, self.most = needed, most
        self.tried: list[set[str]] = []

    def attempt(self, what: str, change: Change) -> Trial | None:
        if len(self.tried) == self.most:
            return None
        chosen = set(change[OPTIONS][OVERRIDES])
        self.tried.append(chosen)
        return Trial(what, change, float(self.needed <= chosen))

    def reaches(self, row: Trial | None) -> bool:
        return row is not None and row.score == 1.0

    def reaching(self) -> list[set[str]]:
        return [chosen for chosen in self.tried if self.needed <= chosen]


def test_what_is_given_already_stays() -> None:
    given = {OPTIONS: {OVERRIDES: {"a": [{"scale": 1.0}]}}}
    assert raised(given, ["b"], QuantType.QInt16) == {
        OPTIONS: {OVERRIDES: {"a": [{"scale": 1.0}], "b": [{"quant_type": "QInt16"}]}}
    }


def test_the_fewest_are_found() -> None:
    search = Search({"t0", "t5"})
    fewest({}, TENSORS, "QInt16", search.attempt, search.reaches)
    assert [len(chosen) for chosen in search.tried[:4]] == [1, 2, 4, 8]
    assert min(search.reaching(), key=len) == {"t0", "t5"}


def test_a_goal_that_all_together_miss_ends_the_search() -> None:
    search = Search({"none of them"})
    fewest({}, TENSORS, "QInt16", search.attempt, search.reaches)
    assert [len(chosen) for chosen in search.tried] == [1, 2, 4, 8, 16]


def test_time_that_is_up_ends_it_anywhere() -> None:
    for most in range(9):
        search = Search({"t0", "t5"}, most)
        fewest({}, TENSORS, "QInt16", search.attempt, search.reaches)
        assert len(search.tried) == most
