"""Limits of codes are those of numpy and ml_dtypes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper

from ort_vitis_plugin.custom_ops.storage_types import HALF_LIMITS, LONG, RANGES, STORAGE_TYPES, UNSIGNED


@pytest.mark.parametrize("kind", sorted(RANGES))
def test_ranges_of_integers(kind: int) -> None:
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    info = np.iinfo(dtype)
    assert RANGES[kind] == (info.min, info.max)
    assert (kind in UNSIGNED) == (info.min == 0)
    assert (kind in LONG) == (int(np.float32(info.max)) != info.max)


def test_limits_of_halves() -> None:
    assert float(HALF_LIMITS[TensorProto.FLOAT16]) == float(np.finfo(np.float16).max)
    assert float(HALF_LIMITS[TensorProto.BFLOAT16]) == float(ml_dtypes.finfo(ml_dtypes.bfloat16).max)
    assert RANGES.keys() | HALF_LIMITS.keys() == STORAGE_TYPES
