"""What JSON cannot say is null, and numpy's numbers are numbers."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np

from ort_vitis_plugin.report.json_data import finite_or_none, json_data


def test_data_are_of_json() -> None:
    found = {"a": math.inf, 1: (Path("x"), True, None), "ü": {"n": math.nan}}
    assert json_data(found) == {"a": None, "1": ["x", True, None], "ü": {"n": None}}


def test_numbers_of_numpy_are_numbers() -> None:
    found = json_data([np.float32(0.5), np.float64("-inf"), np.int8(-3), np.array([1.0, np.nan], np.float16)])
    assert json.dumps(found, allow_nan=False) == "[0.5, null, -3, [1.0, null]]"


def test_a_number_that_is_not_finite_is_none() -> None:
    assert [finite_or_none(value) for value in (0.5, None, math.inf, -math.inf, math.nan)] == [0.5, *[None] * 4]
