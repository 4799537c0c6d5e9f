"""Seven bits take the place of eight where a default session gains, and no output pays for another's gain."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math

import pytest

from ort_vitis_plugin.pipeline.reduce_range_retry import is_worth_it
from ort_vitis_plugin.report.report import Report


def report(*fused: float, saturation: tuple[float, ...] = ()) -> Report:
    made = Report()
    made.fused = dict(zip("yz", fused, strict=False))
    made.integer_kernel_loss = dict(zip("yz", saturation, strict=False))
    return made


@pytest.mark.parametrize(
    ("eight", "seven", "worth"),
    [
        ((30.0,), (34.0,), True),
        ((30.0,), (32.0,), False),
        ((30.0,), (), False),
        ((30.0, 25.0), (36.0, 24.5), True),
        ((30.0, 25.0), (36.0, 22.0), False),
        ((30.0, math.inf), (36.0, math.inf), True),
    ],
)
def test_one_output_gains_and_none_pays(eight: tuple[float, ...], seven: tuple[float, ...], worth: bool) -> None:
    assert is_worth_it(report(*eight, saturation=(8.0, 3.0)), report(*seven)) is worth
