"""Codes in blocks are those of onnxruntime's DequantizeLinear, and scales of least error have no more of it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ort_vitis_plugin.numerics.block_codes import block_codes
from ort_vitis_plugin.numerics.qtypes import host_qtype

RNG = np.random.default_rng(0)
KINDS = ("QInt4", "QUInt4", "QInt8", "QUInt8")


def back(found: Any, axis: int, block: int) -> Any:
    scale, zero = (np.repeat(part, block, axis) for part in (found.scale, found.zero_point))
    length = found.codes.shape[axis]
    scale, zero = (np.take(part, range(length), axis) for part in (scale, zero))
    return (found.codes - zero) * scale


def codes(values: Any, kind: str, axis: int = 0, block: int = 16, **how: Any) -> Any:
    given_how = {"symmetric": True, "least_error": False} | how
    return block_codes(values, host_qtype(kind), axis=axis, block=block, **given_how)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("axis", [0, 1])
def test_no_value_is_more_than_half_a_step_off(kind: str, symmetric: bool, axis: int) -> None:
    values = RNG.normal(size=(40, 24)).astype(np.float32)
    found = codes(values, kind, axis, symmetric=symmetric)
    step = np.take(np.repeat(found.scale, 16, axis), range(values.shape[axis]), axis)
    slack = 0.5 if symmetric else 1.0  # a zero point is an integer: both ends may lie half a step outside
    assert (np.abs(back(found, axis, 16) - values) <= step * (slack + 1e-5)).all()
    assert found.scale.shape == ((3, 24) if axis == 0 else (40, 2))
    assert found.codes.min() >= host_qtype(kind).min
    assert found.codes.max() <= host_qtype(kind).max


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.booleans(), st.floats(0.3, 3))
def test_least_error_is_never_more(seed: int, kind: str, symmetric: bool, power: float) -> None:
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=(32, 3))
    values = (np.sign(normal) * np.abs(normal) ** power).astype(np.float32)
    plain, best = (codes(values, kind, symmetric=symmetric, least_error=least) for least in (False, True))
    plain_error, error = (((back(each, 0, 16) - values) ** 2).reshape(2, 16, 3).sum(1) for each in (plain, best))
    assert (error <= plain_error * (1 + 1e-6) + 1e-30).all()


def test_an_outlier_is_clipped_where_the_rest_gains() -> None:
    values = np.full((16, 1), 0.45, np.float32)
    values[0] = 4.0
    plain, best = (codes(values, "QInt4", least_error=least) for least in (False, True))
    assert best.scale[0, 0] < plain.scale[0, 0]


@pytest.mark.parametrize("kind", KINDS)
def test_zeros_are_exact(kind: str) -> None:
    values = np.zeros((16, 2), np.float32)
    for least in (False, True):
        np.testing.assert_array_equal(back(codes(values, kind, least_error=least), 0, 16), values)
    values[3] = 1e-41  # subnormal: its scale would be none
    assert np.isfinite(back(codes(values, kind), 0, 16)).all()
