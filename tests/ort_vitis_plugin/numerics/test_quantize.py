"""Quantization in float32 rounds and saturates as onnxruntime's operators do."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_plugin.numerics.qtypes import host_qtype
from ort_vitis_plugin.numerics.quantize import along, fake_quant, quantize, round_to_float

INT8, UINT8, INT16 = host_qtype("QInt8"), host_qtype("QUInt8"), host_qtype("QInt16")


def test_quantize_rounds_half_to_even_and_saturates() -> None:
    values = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 126.5, 127.5, 1e30, -1e30, np.inf, -np.inf], np.float32)
    codes = quantize(values, np.float32(1), np.int64(0), INT8.limits())
    assert codes.tolist() == [0, 2, 2, 0, -2, 126, 127, 127, -128, 127, -128]


@pytest.mark.parametrize("kind", ["QInt8", "QUInt8", "QInt16", "QUInt16"])
def test_quantize_is_onnxruntimes(kind: str) -> None:
    """The same codes as QuantizeLinear for random scales and zero points."""
    from ort_vitis_plugin.numerics.qtypes import storage_dtype
    from ort_vitis_plugin.testing import graph, run_model

    known = host_qtype(kind)
    name = str(storage_dtype(known))
    rng = np.random.default_rng(1)
    values = (rng.standard_normal(2000) * 100).astype(np.float32)
    scale = np.float32(rng.uniform(0.01, 1))
    zero = rng.integers(known.min, known.max, endpoint=True)
    model = graph(
        f"t (float[2000] x, float s, {name} z) => ({name}[2000] y) {{ y = QuantizeLinear(x, s, z) }}",
        opset=21,
        ir_version=10,
    )
    feeds = {"x": values, "s": np.array(scale), "z": np.array(zero, storage_dtype(known))}
    expected = run_model(model, feeds)["y"]
    found = quantize(values, scale, np.int64(zero), known.limits())
    np.testing.assert_array_equal(found, expected.astype(np.int64))


def test_fake_quant_is_a_projection() -> None:
    values = np.random.default_rng(2).standard_normal(1000).astype(np.float32)
    for kind in (INT8, UINT8, INT16):
        once = fake_quant(values, 5, kind)
        np.testing.assert_array_equal(fake_quant(once, 5, kind), once)
        inside = np.abs(values) < 127 * 2.0**-5 if kind.is_signed else (values >= -4) & (values < 3.96)
        assert np.max(np.abs(once - values)[inside]) <= 2.0**-6


def test_along_broadcasts_channels() -> None:
    assert along(np.arange(3), 4, 1).shape == (1, 3, 1, 1)
    assert along(np.arange(3), 2, -1).shape == (1, 3)
    assert along(np.array(5), 4, 1).shape == ()


def test_float8_rounds_to_the_nearest_and_saturates() -> None:
    values = np.array([0.0, 1.03, 1.07, -448.0, 460.0, 1e30, -np.inf, np.inf, 2.0**-10, 2.0**-11], np.float32)
    found = round_to_float(values, np.float32(1), host_qtype("QFLOAT8E4M3FN"))
    assert found.tolist() == [0.0, 1.0, 1.125, -448.0, 448.0, 448.0, -448.0, 448.0, 0.0, 0.0]
    assert round_to_float(np.float32([3e38]), np.float32(1e-3), host_qtype("QFLOAT8E4M3FN")).tolist() == [448.0]
