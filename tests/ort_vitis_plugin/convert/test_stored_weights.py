"""Constants are rounded once; sums of wide products keep their order, whoever knows the weight."""

# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto

from tests.ort_vitis_plugin.convert.small_networks import (
    check_twin,
    codes_of,
    kernels,
    network,
    on_grid,
    pair,
    vitis_pair,
)

TYPES = {"bfloat16": TensorProto.BFLOAT16, "float16": TensorProto.FLOAT16, "int16": TensorProto.INT16}
VAI, QUARK = "com.vai.quantize", "com.amd.quark"


@pytest.mark.parametrize("domain", [VAI, QUARK])
@pytest.mark.parametrize("kind", ["bfloat16", "float16", "int16", "int32"])
@pytest.mark.parametrize("op", ["MatMul", "Conv"])
def test_wide_weights(op: str, kind: str, domain: str) -> None:
    import ml_dtypes

    dtype = np.dtype(ml_dtypes.bfloat16) if kind == "bfloat16" else np.dtype(kind)
    scale = 1.0 if dtype.kind not in "iu" else 2.0**-12
    shape, weight = ((7, 320), (320, 48)) if op == "MatMul" else ((1, 32, 9, 9), (16, 32, 3, 3))
    body = f"""{vitis_pair("x", "xd", "s", "z", domain)}
        {vitis_pair("w", "wd", "s", "z", domain)}
        t = {op}(xd, wd)
        {vitis_pair("t", "y", "s", "z", domain)}"""
    generator = np.random.default_rng(0)
    w = generator.standard_normal(weight).astype(np.float32)
    shapes = f"float{list(shape)} x => float[{', '.join('abcd'[: len(shape)])}] y"
    model = network(shapes, body, 17, domain, w=w, s=scale, z=np.zeros((), dtype))
    samples = [{"x": generator.standard_normal(shape).astype(np.float32)} for _ in range(4)]
    twin = check_twin(model, samples)
    assert twin.rewritten["stored constants"] == 1
    assert sum(node.op_type.endswith("QuantizeLinear") for node in twin.model.graph.node) == 2
    if kind == "int16":
        assert {skip.op_type for skip in twin.kept} == ({"Conv"} if op == "Conv" else set())
        assert {node.domain for node in twin.model.graph.node} == {"", "com.microsoft"}


def test_a_table_of_constants() -> None:
    body = f"{vitis_pair('w', 'wd', 's', 'z')}\ny = Gather(wd, x)"
    import ml_dtypes

    w = np.random.default_rng(1).standard_normal((50, 8)).astype(np.float32)
    zero = np.zeros((), ml_dtypes.bfloat16)
    model = network("int64[3] x => float[3, 8] y", body, 17, VAI, w=w, s=1.0, z=zero)
    twin = check_twin(model, [{"x": np.array([0, 49, 7])}])
    assert [node.op_type for node in twin.model.graph.node] == ["Gather"]


def test_weights_of_a_float_product_are_not_computed_at_every_run() -> None:
    body = f"""{pair("x", "xd", "p4")}
        wd = DequantizeLinear(w, p7, i0)
        bd = DequantizeLinear(b, p15, i0)
        t = Gemm(xd, wd, bd)
        {pair("t", "y", "p1", "u127")}"""
    model = network("float[3, 8] x => float[3, 5] y", body, w=codes_of((8, 5)), b=codes_of((5,)))
    twin = check_twin(model, [{"x": on_grid((3, 8), 4)}])
    assert twin.rewritten["float weights"] == 1
    assert kernels(twin)["Gemm"] == 1


def test_weights_of_eight_bits_beside_sixteen() -> None:
    """onnxruntime would compute a MatMul with 8-bit weights on activations of 8 bits."""
    body = """xq = QuantizeLinear(x, p12, z)
        xd = DequantizeLinear(xq, p12, z)
        wd = DequantizeLinear(w, p7, i0)
        y = MatMul(xd, wd)"""
    model = network("float[3, 64] x => float[3, 32] y", body, 21, w=codes_of((64, 32)), z=np.zeros((), np.int16))
    twin = check_twin(model, [{"x": np.random.default_rng(2).standard_normal((3, 64)).astype(np.float32)}])
    assert kernels(twin)["MatMul"] == 1


@pytest.mark.parametrize("deep", [900, 1100])
def test_sums_that_float32_may_round(deep: int) -> None:
    """1,032 products of 127 and 128 are 2^24."""
    body = f"{pair('x', 'xd', 'p4')}\nwd = DequantizeLinear(w, p7, i0)\nt = MatMul(xd, wd)\n{pair('t', 'y', 'p1')}"
    w = np.full((deep, 3), 127, np.int8)
    model = network(f"float[2, {deep}] x => float[2, 3] y", body, w=w)
    twin = check_twin(model, [{"x": on_grid((2, deep), 4)}])
    assert kernels(twin)["QLinearMatMul"] == (deep < 1000)
    assert [skip.reason for skip in twin.kept] == (
        [] if deep < 1000 else ["float32 may round its sums, int32 does not"]
    )
