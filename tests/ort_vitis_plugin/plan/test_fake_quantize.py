"""What codes stand for is what numpy computes of them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto

from ort_vitis_plugin import VitisQuantType, api
from ort_vitis_plugin.plan import Role, TensorPlan


@pytest.mark.parametrize("kind", [TensorProto.INT8, TensorProto.UINT8, TensorProto.INT16])
def test_fake_quantize_is_codes_times_scale(kind: int) -> None:
    values = np.random.default_rng(2).standard_normal((3, 5)).astype(np.float32)
    scale, zero = np.array([0.25, 0.01, 2.0], np.float32), np.array([3, 0, 1])
    planned = TensorPlan("w", Role.WEIGHT, api.qtype(kind), scale, zero, axis=0)
    low, high = planned.kind.limits()
    codes = np.clip(np.rint(values / scale[:, None]) + zero[:, None], low, high)
    expected = ((codes - zero[:, None]) * scale[:, None]).astype(np.float32)
    np.testing.assert_array_equal(api.fake_quantize(values, planned), expected)


def test_fake_quantize_of_a_float_type() -> None:
    planned = TensorPlan(
        "x", Role.ACTIVATION, api.qtype(VitisQuantType.QBFloat16), np.ones((), np.float32), np.zeros(())
    )
    found = api.fake_quantize(np.array([1.00390625, 3.0], np.float32), planned)
    np.testing.assert_array_equal(found, np.array([1.0, 3.0], np.float32))
