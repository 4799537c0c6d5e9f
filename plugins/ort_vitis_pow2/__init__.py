"""Power-of-two calibration: NonOverflow never clips, MinMSE has the least squared error of all positions."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator

from ort_vitis_plugin.api import Declaration, hookimpl

from .min_mse import MIN_MSE, MinMSEOptions
from .non_overflow import NON_OVERFLOW


@hookimpl
def vitis_declare() -> Iterator[Declaration]:
    yield MinMSEOptions
    yield NON_OVERFLOW
    yield MIN_MSE
