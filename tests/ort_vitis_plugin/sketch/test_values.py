"""Only floats are counted, in one piece and native order."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from ort_vitis_plugin.errors import CalibrationError
from ort_vitis_plugin.sketch.values import as_float32, floats


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64, ">f4"], ids=str)
def test_floats_of_any_layout(dtype: object) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype)[:, ::2]
    row = floats(array)
    assert row.flags.c_contiguous
    assert row.dtype.isnative
    np.testing.assert_array_equal(row.astype(np.float32), [0, 2, 3, 5])


@pytest.mark.parametrize("dtype", [np.int8, bool, complex, "U3"], ids=str)
def test_others_are_refused(dtype: object) -> None:
    with pytest.raises(CalibrationError, match="a sketch takes"):
        floats(np.zeros(2).astype(dtype))


def test_what_lies_beyond_float32_is_infinite() -> None:
    np.testing.assert_array_equal(as_float32(np.array([1e300, -1e300, 1.0])), [np.inf, -np.inf, 1])
