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
