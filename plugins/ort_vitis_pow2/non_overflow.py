"""NonOverflow takes the largest position p at which [qmin, qmax] * 2^-p still covers all data."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin.api import ErrorCurve, PositionMethod, PowerOfTwoMethod, TensorFacts


def covering(curve: ErrorCurve, tensor: TensorFacts) -> int:
    """The finest step that clips nothing."""
    return curve.covering()


NON_OVERFLOW = PositionMethod(
    PowerOfTwoMethod.NonOverflow,
    "Power-of-two step, the finest at which no value is clipped.",
    covering,
    never_clips=True,
)
