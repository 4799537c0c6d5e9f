"""Scales by channel lie where the kernels of every release take them, with one zero point for all channels."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from onnxruntime.quantization import QuantFormat, QuantType

from ort_vitis_plugin.numerics.qtypes import host_qtype
from ort_vitis_plugin.plan.affine import affine

from .checks import (
    EVERYTHING,
    Arguments,
    Build,
    assert_close,
    constants_of,
    dequantizer,
    model,
    nodes,
    quantized,
    run_at,
    samples,
    stored,
    weights,
)

U8U8: Arguments = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QUInt8}
FORMS: dict[str, Arguments] = {
    "int8": {"activation_type": QuantType.QInt8},
    "uint8": U8U8,
    "uint8 of seven bits": {**U8U8, "reduce_range": True},
    "qoperator": {"quant_format": QuantFormat.QOperator},
}
STACKED = (-1,)  # of signed codes: no kernel takes a zero point for each column of a stack
PRODUCTS: dict[str, tuple[Build, tuple[int, ...]]] = {
    "matrix on the right": (
        lambda: model("t (float[2, 3, 8] x) => (float[2, 3, 6] y) { y = MatMul(x, w) }", {"w": weights(1, 8, 6)}),
        (6,),
    ),
    "matrix on the left": (
        lambda: model("t (float[8, 5] x) => (float[6, 5] y) { y = MatMul(w, x) }", {"w": weights(1, 6, 8)}),
        (),
    ),
    "stacked matrices": (
        lambda: model("t (float[2, 3, 8] x) => (float[2, 3, 6] y) { y = MatMul(x, w) }", {"w": weights(1, 2, 8, 6)}),
        STACKED,
    ),
    "broadcast matrices": (
        lambda: model(
            "t (float[2, 3, 4, 8] x) => (float[2, 3, 4, 6] y) { y = MatMul(x, w) }", {"w": weights(1, 1, 3, 8, 6)}
        ),
        STACKED,
    ),
    "vector on the right": (
        lambda: model("t (float[2, 3, 8] x) => (float[2, 3] y) { y = MatMul(x, w) }", {"w": weights(1, 8)}),
        (),
    ),
}
SHARED: dict[str, Build] = {
    "on the left, then on the right": lambda: model(
        "t (float[8, 8] x) => (float[8, 8] y) { h = MatMul(w, x) y = MatMul(h, w) }", {"w": weights(1, 8, 8)}
    ),
    "on the right, then on the left": lambda: model(
        "t (float[8, 8] x) => (float[8, 8] y) { h = MatMul(x, w) y = MatMul(w, h) }", {"w": weights(1, 8, 8)}
    ),
    "on both sides": lambda: model(
        "t (float[8, 8] x) => (float[8, 8] y) { h = MatMul(w, w) y = MatMul(x, h) }", {"w": weights(1, 8, 8)}
    ),
    "of Gemm and on the left": lambda: model(
        "t (float[8, 8] x) => (float[8, 8] y) { h = Gemm(x, w) y = MatMul(w, h) }", {"w": weights(1, 8, 8)}
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", PRODUCTS)
def test_which_side_of_a_matmul_has_channels(case: str, form: str) -> None:
    build, channels = PRODUCTS[case]
    source = build()
    result = quantized(source, per_channel=True, **FORMS[form])
    if channels is STACKED:
        signed = result.report.types["w"] == "QInt8"
        channels = (6,) if signed else ()
        assert len(dequantizer(result, nodes(result, "MatMul")[0].input[1]).input) == (2 if signed else 3)
    assert constants_of(result)["w_scale"].shape == channels
    assert channels or "vector" in case or any("one scale" in note for note in result.report.notes)
    assert_close(source, result, 25.0)
    run_at(result.model, samples(source), EVERYTHING)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", SHARED)
def test_a_weight_on_either_side(case: str, form: str) -> None:
    source = SHARED[case]()
    result = quantized(source, per_channel=True, **FORMS[form])
    assert_close(source, result, 20.0)
    run_at(result.model, samples(source), EVERYTHING)


@pytest.mark.parametrize("form", ["int8", "uint8", "uint8 of seven bits"])
@pytest.mark.parametrize("factors", [(1, 0, 1, 1), (1, 1e-9, 1, 1), (1e-9, 1e-9, 1e-9, 1e-9), (1, 0, 1e-40, 1)])
@pytest.mark.parametrize("bias", [3.0, 0.0, 1e6])
def test_channels_of_nothing_have_the_zero_point_of_the_others(
    bias: float, factors: tuple[float, ...], form: str
) -> None:
    w = weights(1, 4, 3, 3, 3) * np.array(factors, np.float32)[:, None, None, None]
    source = model(
        "t (float[1, 3, 6, 6] x) => (float[1, 4, 4, 4] y) { y = Conv(x, w, b) }",
        {"w": w, "b": np.float32([bias, -bias, bias, -bias])},
    )
    result = quantized(source, per_channel=True, **FORMS[form])
    (conv,) = nodes(result, "Conv")
    zero = constants_of(result)[dequantizer(result, conv.input[1]).input[2]]
    assert len(set(zero.tolist())) == 1
    assert factors[1] or (stored(result, conv.input[1])[1] == zero[0]).all()
    assert_close(source, result, 25.0)
    run_at(result.model, samples(source), EVERYTHING)


@pytest.mark.parametrize("limits", [(0, 255), (0, 127)])
def test_the_zero_point_of_zeros(limits: tuple[int, int]) -> None:
    kind = host_qtype(QuantType.QUInt8)
    something = affine(-1.0, 1.0, kind, limits, symmetric=True)
    assert affine(0.0, 0.0, kind, limits, symmetric=True).zero_point == something.zero_point
