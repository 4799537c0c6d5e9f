"""Eight bits of a weight or seven: where the integer kernels of this CPU saturate, seven are more exact.

Without VNNI they add two products of 8-bit codes in 16 bits, which 255 * (127 + 127) exceeds and 255 * (64 + 64) does
not. Seven bits cost up to 6 dB where nothing saturates, and one to four on networks.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from ..report.report import Report
    from ..request.call import Call

WORTH_A_BIT = 3.0  # decibels
SLACK = 1.0  # that other outputs may lose
SPARED = (
    "weights keep to seven bits (reduce_range), codes that they came with are stored unsigned: else onnxruntime's "
    "integer kernels lost {lost:.0f} dB on this CPU, which has no VNNI and saturates 16-bit sums; "
    "AvoidSaturation=False keeps eight signed bits"
)
SATURATED = (
    "output {output} loses {lost:.0f} dB in onnxruntime's integer kernels on this CPU: without VNNI they saturate; "
    "judge accuracy with ORT_ENABLE_BASIC, or use reduce_range for deployment on such CPUs"
)


def may_spare_a_bit(call: Call) -> bool:
    """Whether weights of seven bits may take the place of eight that saturate: the CPU's kernels are its target's."""
    if max(call.report.integer_kernel_loss.values(), default=0.0) < WORTH_A_BIT:
        return False
    return call.call.avoid_saturation and "cpu" in call.lineage and not call.request.reduce_range


def is_worth_it(eight: Report, seven: Report) -> bool:
    """Whether the output that loses most gains enough in a default session, and no other output pays for it."""
    worst = max(eight.integer_kernel_loss, key=lambda name: eight.integer_kernel_loss[name])
    after = {name: seven.fused.get(name, -math.inf) for name in eight.fused}
    if any(after[name] < before - SLACK for name, before in eight.fused.items()):
        return False
    return after[worst] - eight.fused[worst] >= WORTH_A_BIT


def note_spared(report: Report, eight: Report, measured: Collection[str]) -> None:
    """Say in the second answer's report what the first one lost, and nothing else that was ``measured`` there."""
    report.continue_from(eight, without=measured)
    report.note(SPARED.format(lost=max(eight.integer_kernel_loss.values())))


def note_saturated(report: Report) -> None:
    """Say what default sessions on this CPU lose."""
    for output, lost in report.integer_kernel_loss.items():
        report.note(SATURATED.format(output=output, lost=lost))
