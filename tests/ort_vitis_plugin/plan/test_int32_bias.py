"""An int32 bias must not overflow at the scale of its product."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from ort_vitis_plugin.plan.int32_bias import int32_bias_positions, int32_bias_scale

if TYPE_CHECKING:
    pass


@pytest.mark.parametrize("bias", [[3.0], [-8.0, 1e-3], [1e9], [1e-12]])
def test_int32_bias_limits(bias: list[float]) -> None:
    values = np.array(bias)
    highest = int32_bias_positions(values)
    assert highest is not None
    assert np.abs(values).max() * 2.0**highest <= 2**31 - 1 < np.abs(values).max() * 2.0 ** (highest + 1)
    scale = np.asarray(1e-12)
    grown = np.float32(scale * int32_bias_scale(values, scale))
    assert np.abs(values).max() / grown <= 2**31 - 1


def test_int32_bias_of_zero_has_no_limit() -> None:
    assert int32_bias_positions(np.zeros(3)) is None
