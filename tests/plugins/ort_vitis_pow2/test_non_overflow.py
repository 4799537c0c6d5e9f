"""NonOverflow: the finest step at which the codes reach all that was seen."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_plugin.api import ErrorCurve, Role, Sketch, TensorFacts, qtype
from ort_vitis_plugin.testing import plain_context
from ort_vitis_pow2.non_overflow import NON_OVERFLOW


@pytest.mark.parametrize("kind", ["QInt4", "QInt8", "QUInt8", "QInt16"])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("values", [(-1.0, 0.99), (-0.3, 0.7), (-128.0, 127.0), (-129.0, 5.0), (1e-20, 3e-20)])
def test_nothing_is_clipped_and_one_step_finer_clips(kind: str, symmetric: bool, values: tuple[float, float]) -> None:
    sketch, made = Sketch(), qtype(kind)
    sketch.add(np.array(values, np.float32))
    curve = ErrorCurve(sketch, made, made.limits(), symmetric, never_clips=True)
    position = NON_OVERFLOW.choose(curve, TensorFacts("t", Role.ACTIVATION, plain_context().settings))
    low, high = min(sketch.minimum, 0.0), max(sketch.maximum, 0.0)

    def reaches(position: int) -> bool:
        zeros = range(made.limits()[0], made.limits()[1] + 1)
        possible = [made.symmetric_zero_point()] if symmetric else zeros
        ends = [[(code - zero) * 2.0**-position for code in made.limits()] for zero in possible]
        return any(least <= low and high <= most for least, most in ends)

    assert reaches(position)
    assert not reaches(position + 1)
    assert NON_OVERFLOW.never_clips
