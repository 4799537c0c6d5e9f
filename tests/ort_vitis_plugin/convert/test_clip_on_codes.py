"""A clamp between an operator and its quantize node clamps the codes, with the limits where quantizing puts them."""

# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from tests.ort_vitis_plugin.convert.small_networks import check_twin, codes_of, kernels, network, on_grid, pair

CLAMPS = {
    "Relu": ("r = Relu(t)", 1, "Clip"),
    "Relu6": ("r = Clip(t, zero, six)", 1, "Clip"),
    "between codes": ("r = Clip(t, low, high)", 1, "Clip"),
    "only above": ('r = Clip(t, "", six)', 1, "Clip"),
    "only below": ("r = Clip(t, low)", 1, "Clip"),
    "beyond all codes": ("r = Clip(t, far, wide)", 1, ""),
    "two in a row": ("s = Relu(t)\nr = Clip(s, low, six)", 1, "Clip"),
    "limits as codes": (f"{pair('six', 'six_d', 'p4')}\nr = Clip(t, zero, six_d)", 1, "Clip"),
    "a computed limit": ("m = ReduceMax<keepdims = 0>(x)\nr = Clip(t, zero, m)", 0, ""),
}


@pytest.mark.parametrize("zero", ["u128", "u0", "u127"])
@pytest.mark.parametrize("case", CLAMPS)
def test_clamps(case: str, zero: str) -> None:
    clamp, whole, after = CLAMPS[case]
    clamp = clamp.replace('""', "")
    body = f"""{pair("x", "xd", "p4")}
        wd = DequantizeLinear(w, p7, i0)
        t = Gemm(xd, wd)
        {clamp}
        {pair("r", "y", "p2", zero)}"""
    limits = {"zero": 0.0, "six": 6.0, "low": -1.13, "high": 3.3, "far": -1e6, "wide": 1e6}
    model = network("float[4, 8] x => float[4, 6] y", body, w=codes_of((8, 6)), **limits)
    twin = check_twin(model, [{"x": on_grid((4, 8), 4, seed)} for seed in range(4)])
    computed = kernels(twin)
    assert computed["QGemm"] == whole
    if not whole:
        assert any(skip.reason == "its limits are computed" for skip in twin.kept)
    elif after and zero == "u128":
        assert computed["Clip"]


@pytest.mark.parametrize("op", ["Add", "Mul"])
@pytest.mark.parametrize("zero", ["u128", "u127"])
def test_sums_and_products(op: str, zero: str) -> None:
    body = f"""{pair("a", "ad", "p4")}
        {pair("b", "bd", "p6")}
        t = {op}(ad, bd)
        r = Relu(t)
        {pair("r", "y", "p2", zero)}"""
    samples = [{"a": on_grid((500,), 4, seed), "b": on_grid((500,), 6, seed + 9)} for seed in range(3)]
    twin = check_twin(network("float[500] a, float[500] b => float[500] y", body), samples)
    assert kernels(twin)[f"QLinear{op}"] == (zero == "u128"), "ties at odd zero points are not those of the model"


def test_a_float_operator_keeps_its_clamp() -> None:
    body = f"t = Gemm(x, w)\nr = Relu(t)\n{pair('r', 'y', 'p2')}"
    model = network("float[4, 8] x => float[4, 6] y", body, w=np.ones((8, 6), np.float32))
    twin = check_twin(model, [{"x": on_grid((4, 8), 4)}])
    assert "clamped codes" not in twin.rewritten
