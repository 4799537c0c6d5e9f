"""What would take too much off the device is not tried, whether nodes stay float or a simulation is switched off."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import pytest

from ort_vitis_plugin.request.change import OPTIONS
from ort_vitis_plugin.trials.bench import Bench, split_of
from ort_vitis_plugin.trials.budget import Budget
from ort_vitis_plugin.trials.candidates import Candidate
from ort_vitis_plugin.trials.climb import Climb
from ort_vitis_plugin.trials.trial import Trial
from ort_vitis_plugin.trials.trial_file import TrialFile
from tests.ort_vitis_plugin.trials.test_tune import detector, feeds

pytestmark = pytest.mark.filterwarnings("ignore::ort_vitis_plugin.errors.AccuracyWarning")
NPU: dict[str, Any] = {OPTIONS: {"Preset": "ipu_cnn", "Recipe": "plain"}}
SIGMOID = Candidate("off", {OPTIONS: {"ConvertSigmoidToHardSigmoid": False}})
EXCLUDED = Candidate("float", {"nodes_to_exclude": ["s0", "s1", "sg"]})
ONE = Candidate("float", {"nodes_to_exclude": ["sg"]})
BIAS = Candidate("bias", {OPTIONS: {"BiasCorrection": True}})


def tried(keep: float) -> list[str]:
    """Which of four candidates are tried where so much must stay on the device."""
    bench = Bench(detector(), split_of(feeds(4), detector()), "sqnr")
    search = Climb(bench, TrialFile(None, {}), Budget(120), 0.1, None)
    search.begin(NPU, keep)
    candidates = {"simulation": SIGMOID, "three": EXCLUDED, "one": ONE, "bias": BIAS}
    return [name for name, each in candidates.items() if not search._loses_too_much(each)]


def test_three_simulated_nodes_or_three_left_float_are_as_many() -> None:
    assert tried(0.0) == ["simulation", "three", "one", "bias"]
    assert tried(0.8) == ["one", "bias"]
    assert tried(1.0) == ["bias"]


def row(what: str, score: float, on_device: int = 10, **more: Any) -> Trial:
    return Trial(what, {**NPU, **more}, score, on_device=on_device)


def test_corrections_go_to_the_best_few_that_leave_other_nodes_float() -> None:
    few, many, method = {"nodes_to_exclude": ["s0"]}, {"nodes_to_exclude": ["s0", "s1"]}, {"calibrate_method": "MinMax"}
    search = Climb(None, TrialFile(None, {}), Budget(120), 0.1, None)  # type: ignore[arg-type]
    search._least = 8.0
    corrected = {OPTIONS: {**NPU[OPTIONS], "Recipe": "auto"}}
    best = row("few", 12.0, **few)
    search.rows = [
        row("as asked for", 12.5, **corrected),
        row("the method alone", 10.0),
        row("weak", 10.9, **method),
        row("many", 11.2, **many),
        best,
        row("few, another method", 11.9, **few, **method),
        row("too far off the device", 20.0, 7, op_types_to_quantize=["MatMul"]),
    ]
    search.best = best
    assert [each.what for each in search._finalists()] == ["few", "many"]
    search._idle.add(search.rows[3].key)
    assert [each.what for each in search._finalists()] == ["few"]


@pytest.mark.parametrize(("exchanged", "taken"), [(15.0, "lucky"), (9.0, "sound"), (None, "sound")])
def test_what_is_better_by_chance_is_not_taken(
    monkeypatch: pytest.MonkeyPatch, exchanged: float | None, taken: str
) -> None:
    lucky, sound = ({"nodes_to_exclude": [name]} for name in ("s0", "s1"))
    others = {"sg": 10.0, "s0": exchanged, "s1": 12.0}
    monkeypatch.setattr(Bench, "exchanged", lambda self, given: others[given["nodes_to_exclude"][0]])
    search = Climb(
        Bench(detector(), split_of(feeds(4), detector()), "sqnr"), TrialFile(None, {}), Budget(120), 0.1, None
    )
    search.best = row("now", 10.0, nodes_to_exclude=["sg"])
    search.rows = [search.best, row("lucky", 14.0, **lucky), row("sound", 12.5, **sound)]
    assert search._take_best(search.rows[1:])
    assert search.best.what == taken
    assert search.rows[0].exchanged == 10.0
    assert search.best in search.rows
    assert search.best.worth == (14.5 if taken == "lucky" else 12.25)


def test_what_is_left_of_the_budget_goes_on_from_the_corrected(monkeypatch: pytest.MonkeyPatch) -> None:
    def scored(self: Bench, what: str, configuration: Any, first: Trial | None = None) -> Trial:
        options, left = configuration[OPTIONS], configuration.get("nodes_to_exclude") or []
        corrects = bool(options.get("BiasCorrection")) or options.get("Recipe") == "auto"
        score = 10.0 + 2 * corrects + 3 * ("sg" in left) + 5 * (corrects and "s0" in left)
        return Trial(what, configuration, score, on_device=10 - len(left), seconds=0.01)

    asked: dict[str, Any] = {OPTIONS: {"Preset": "ipu_cnn"}}
    monkeypatch.setattr(Bench, "tried", scored)
    monkeypatch.setattr(Bench, "exchanged", lambda self, given: scored(self, "", given).score)
    bench = Bench(detector(), split_of(feeds(4), detector()), "sqnr")
    search = Climb(bench, TrialFile(None, {}), Budget(120), 0.1, None)
    search.begin(asked, 0.5)
    search.run()
    assert search.best is not None
    assert search.best.score == 20.0
    assert "the method alone" in [each.what for each in search.rows]
