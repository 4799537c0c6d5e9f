"""A gate says what is missing, and lets pass what is just enough."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math

import pytest

from ort_vitis_plugin.cli.gates import NOT_MET, below, dropped, share
from ort_vitis_plugin.errors import OptionError


@pytest.mark.parametrize(("least", "status"), [(None, 0), (20.0, 0), (20.1, NOT_MET), (math.nan, NOT_MET)])
def test_decibels(least: float | None, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert below({"y": 20.0, "z": math.inf}, least) == status
    assert ("y has 20.0 dB" in capsys.readouterr().err) == bool(status)


def test_decibels_that_are_no_number_do_not_pass() -> None:
    assert below({"y": math.nan}, 0.0) == NOT_MET


@pytest.mark.parametrize(("most", "status"), [(None, 0), (0.1, 0), (0.05, NOT_MET)])
def test_accuracy(most: float | None, status: int) -> None:
    assert dropped(0.9, 0.8, most) == status
    assert dropped(0.8, 0.9, most) == 0


def test_shares() -> None:
    assert share("1%") == share("0.01") == 0.01
    for text in ("much", "101%", "-1", "nan", "%"):
        with pytest.raises(OptionError, match="takes a share"):
            share(text)
