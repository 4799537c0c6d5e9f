"""Decibels of signal over noise, at their ends too."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math

import numpy as np
import pytest

from ort_vitis_plugin.numerics.sqnr import sqnr_db


def test_sqnr() -> None:
    f = np.array([3.0, 4.0])
    assert sqnr_db(f, f) == math.inf
    assert sqnr_db(f, f + np.array([0.5, 0.0])) == pytest.approx(20.0)
    assert sqnr_db(np.zeros(2), np.ones(2)) == -math.inf
    assert sqnr_db(f, np.array([np.inf, 4.0])) == -math.inf
