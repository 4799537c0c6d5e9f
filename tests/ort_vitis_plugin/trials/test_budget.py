"""Time is told as people say it, and a search ends when it is up."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest

from ort_vitis_plugin.errors import OptionError
from ort_vitis_plugin.trials.budget import Budget, seconds_of


def test_times_are_read_as_people_write_them() -> None:
    assert [seconds_of(text) for text in ("90s", "5m", "1h30m", "2m5", "7", "0.5s")] == [90, 300, 5400, 125, 7, 0.5]
    assert seconds_of(3) == 3


@pytest.mark.parametrize("said", ["soon", "", "0s", "1d", "-5", 0, -1.0])
def test_what_is_no_time_is_refused(said: str | float) -> None:
    with pytest.raises(OptionError, match="budget takes a time such as '90s'"):
        seconds_of(said)


def test_a_budget_is_over_when_it_is_spent() -> None:
    assert Budget(0.0).is_over
    patient = Budget(3600.0)
    assert 0 <= patient.spent < 3600
    assert not patient.is_over


def test_what_comes_last_and_the_next_trial_have_their_time() -> None:
    for name in ("kept", "last", "ahead"):
        budget = Budget(3600.0)
        setattr(budget, name, 3500.0)
        assert not budget.is_over
        setattr(budget, name, 3600.0)
        assert budget.is_over
