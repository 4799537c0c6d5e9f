"""What a tensor's relative error costs its readers: an addend counts by its share of the sum.

In z = a + b an error of ``a`` is an error of z, so relative to z it is the error relative to a, times ms(a) / ms(z)
with ms the mean square. A small constant beside a large activation may then lose all its bits before the activation
clips.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ..plan.error_curve import ErrorCurve

if TYPE_CHECKING:
    from ..plan import Plan, TensorPlan

ADDING = ("Add", "Sub")


def effect(plan: Plan, tensor: TensorPlan) -> float:
    """The factor of a tensor's relative error, at most 1: less where all that reads it adds it to something larger."""
    own = _mean_square(tensor)
    if own is None:
        return 1.0
    readers = plan.graph.consumers(tensor.name)
    if not readers or tensor.name in plan.graph.outputs:
        return 1.0
    share = 0.0
    for reader in readers:
        end = plan.of(plan.output_of(reader)) if reader.op_type in ADDING else None
        total = _mean_square(end) if end is not None else None
        if not total:
            return 1.0
        share = max(share, own / total)
    return min(share, 1.0)


def _mean_square(tensor: TensorPlan) -> float | None:
    if not isinstance(tensor.curve, ErrorCurve) or not tensor.curve.sketch.count:
        return None
    return tensor.curve.sketch.sum_squares / tensor.curve.sketch.count
