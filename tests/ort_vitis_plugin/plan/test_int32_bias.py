"""An int32 bias must not overflow at the scale of its product."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_plugin.plan.int32_bias import by_channel, int32_bias_positions, int32_bias_scale


@pytest.mark.parametrize("bias", [[3.0], [-8.0, 1e-3], [1e9], [1e-12]])
def test_int32_bias_limits(bias: list[float]) -> None:
    values = np.array(bias)
    highest = int32_bias_positions(values)
    assert highest is not None
    assert np.abs(values).max() * 2.0**highest <= 2**31 - 1 < np.abs(values).max() * 2.0 ** (highest + 1)
    scale = np.asarray(1e-12)
    grown = np.float32(scale * int32_bias_scale(values, scale))
    assert np.abs(values).max() / grown <= 2**31 - 1


@pytest.mark.parametrize("bias", [2.0**31 - 1, 2.0**31, -(2.0**31)])
def test_the_largest_code_is_the_last_that_fits(bias: float) -> None:
    grown = int32_bias_scale(np.array([bias]), np.asarray(1.0))
    assert (grown > 1) == (abs(bias) > 2**31 - 1)
    assert abs(bias) / grown <= 2**31 - 1


def test_only_channels_that_overflow_grow() -> None:
    factor = int32_bias_scale(np.array([1.0, 1e6, 0.0]), np.array([1.0, 1e-6, 0.0]))
    assert factor.tolist() == [1.0, pytest.approx(1e12 / (2**31 - 1), rel=1e-3), 1.0]


def test_a_bias_has_a_value_for_each_channel() -> None:
    assert by_channel(np.arange(6), 3).tolist() == [[0, 1, 2], [3, 4, 5]]  # a ConvTranspose of two groups
    assert by_channel(np.arange(3), 3).tolist() == [0, 1, 2]
    assert by_channel(np.array([7]), 3).tolist() == [7, 7, 7]  # a Gemm's, which broadcasts
    assert by_channel(np.array([[1], [2]]), 3).tolist() == [[1, 1, 1], [2, 2, 2]]
    assert by_channel(np.asarray(5), 2).tolist() == [5, 5]


def test_int32_bias_of_zero_has_no_limit() -> None:
    assert int32_bias_positions(np.zeros(3)) is None
