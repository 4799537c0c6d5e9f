"""The reference of the custom ops, by hand."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_plugin import custom_ops


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        custom_ops.nothing  # noqa: B018


def test_reference_by_hand() -> None:
    """Numbers that a reader can check: ties to even, the zero point after rounding, saturation, NaN, infinities."""
    x = np.array([0.5, 1.5, -0.5, 2.4, 1000, np.nan, np.inf, -np.inf], np.float32)
    q = custom_ops.quantize_linear(x, 1.0, np.int8(1))
    np.testing.assert_array_equal(q, [1, 3, 1, 3, 127, -128, 127, -128])
    np.testing.assert_array_equal(custom_ops.dequantize_linear(q, 1.0, np.int8(1)), [0, 2, 0, 2, 126, -129, 126, -129])
    np.testing.assert_array_equal(custom_ops.fix_neuron(x, 1.0, np.int8(0), 3), [0, 2, 0, 2, 3, -4, 3, -4])
    np.testing.assert_array_equal(custom_ops.quantize_linear([3e9, -3e9], 1.0, np.int32(0)), [2**31 - 1, -(2**31)])
    np.testing.assert_array_equal(custom_ops.quantize_linear([70000.0, 1 + 2**-11], 1.0, np.float16(0)), [65504, 1])
