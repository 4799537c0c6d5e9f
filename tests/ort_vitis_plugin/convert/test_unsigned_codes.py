"""Codes that are signed, or of 4 bits, become those for which there are integer kernels, and stand for the same."""

# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from ort_vitis_plugin.convert.integer_kernels import PRECISE
from tests.ort_vitis_plugin.convert.small_networks import (
    FULL,
    UNOPTIMIZED,
    check_twin,
    codes_of,
    kernels,
    network,
    on_grid,
    pair,
    session,
)

SAMPLES = [{"x": on_grid((3, 8), 4, seed)} for seed in range(3)]
SHAPES = "float[3, 8] x => float[3, 5] y"


def test_signed_activations() -> None:
    ends = pair("x", "xd", "p4", "i0"), pair("t", "y", "p1", "i0")
    body = f"{ends[0]}\nwd = DequantizeLinear(w, p7, i0)\nt = Gemm(xd, wd)\n{ends[1]}"
    twin = check_twin(network(SHAPES, body, w=codes_of((8, 5))), SAMPLES)
    assert twin.rewritten == {"unsigned codes": 2}
    assert kernels(twin)["QGemm"] == 1


def test_a_constant_beside_them() -> None:
    ends = pair("x", "xd", "p4", "i0"), pair("t", "y", "p3", "i0")
    body = f"{ends[0]}\ncd = DequantizeLinear(c, p5, i0)\nt = Add(xd, cd)\n{ends[1]}"
    twin = check_twin(network("float[3, 8] x => float[3, 8] y", body, c=codes_of((8,))), SAMPLES)
    assert twin.rewritten == {"unsigned codes": 3}
    assert kernels(twin)["QLinearAdd"] == 1


def test_codes_that_leave_the_graph_stay() -> None:
    body = "q = QuantizeLinear(x, p4, i0)\ny = DequantizeLinear(q, p4, i0)"
    twin = check_twin(network("float[3, 8] x => float[3, 8] y, int8[3, 8] q", body), SAMPLES)
    assert not twin.rewritten


@pytest.mark.parametrize("kind", [TensorProto.INT4, TensorProto.UINT4])
def test_weights_of_four_bits(kind: int) -> None:
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    low = -8 if kind == TensorProto.INT4 else 0
    w = np.random.default_rng(0).integers(low, low + 16, (8, 5)).astype(dtype)
    zero = np.array(low + 8, dtype)
    body = f"{pair('x', 'xd', 'p4')}\nwd = DequantizeLinear(w, p3, z)\nt = Gemm(xd, wd)\n{pair('t', 'y', 'p1')}"
    twin = check_twin(network(SHAPES, body, 21, w=w, z=zero), SAMPLES)
    assert kernels(twin)["QGemm"] == 1


def test_codes_that_several_read_are_replaceable_one_by_one() -> None:
    """With the option for CPUs without VNNI onnxruntime replaces int8 constants, and wants to do it once each."""
    body = f"""{pair("x", "xd", "p4")}
        wd = DequantizeLinear(w, p7, i0)
        ve = DequantizeLinear(w, p6, i0)
        t = Gemm(xd, wd)
        s = Gemm(xd, wd)
        r = Gemm(xd, ve)
        {pair("t", "a", "p1")}
        {pair("s", "b", "p2")}
        {pair("r", "c", "p2")}
        u = Add(a, b)
        y = Add(u, c)"""
    twin = check_twin(network(SHAPES, body, w=codes_of((8, 5))), SAMPLES)
    options = twin.session_options()
    for key, value in PRECISE.items():
        options.add_session_config_entry(key, value)
    np.testing.assert_array_equal(
        *(
            found.run(None, SAMPLES[0])[0]
            for found in (session(twin.model, FULL, options), session(twin.model, UNOPTIMIZED))
        )
    )
