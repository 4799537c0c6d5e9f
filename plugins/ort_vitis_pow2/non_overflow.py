"""NonOverflow takes the largest position p at which [qmin, qmax] * 2^-p still covers all data."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

from ort_vitis_plugin.api import Calibrator, ErrorCurve, PowerOfTwoMethod


def covering(curve: ErrorCurve, name: str, collected: Any) -> int:
    """The finest step that clips nothing."""
    return curve.covering()


NON_OVERFLOW = Calibrator(
    PowerOfTwoMethod.NonOverflow,
    "Power-of-two step, the finest at which no value is clipped.",
    True,
    covering,
    never_clips=True,
)
