"""Whatever a bias is finer by, codes are those of the model: ties, fractions, zero points, clamps and ends."""

# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from ort_vitis_plugin.convert.finer_biases import FINER
from tests.ort_vitis_plugin.convert.small_networks import check_twin, codes_of, kernels, network, on_grid, pair


def gemm(bias: str, end: str, zero: str = "u128", clamp: str = "") -> str:
    result = "r" if clamp else "t"
    return f"""{pair("x", "xd", "p4")}
        wd = DequantizeLinear(w, p7, i0)
        bd = DequantizeLinear(b, {bias}, i0)
        t = Gemm(xd, wd, bd)
        {clamp}
        {pair(result, "y", end, zero)}"""


def every_sum(weight: int = 1) -> dict[str, np.ndarray]:
    """One product of 256 codes by a weight, and biases that put them beside and onto ties."""
    w = np.zeros((2, 16), np.int8)
    w[0], w[1] = weight, np.arange(16) - 8
    return {"w": w, "b": np.arange(-40, 40, 5).astype(np.int8)}


ROWS = np.stack([np.tile(np.arange(-128, 128), 8), np.repeat(np.arange(-4, 4), 256)], 1).astype(np.float32) / 16
SHAPES = "float[2048, 2] x => float[2048, 16] y"


@pytest.mark.parametrize("zero", ["u128", "u0"])
@pytest.mark.parametrize("end", range(2, 11))
@pytest.mark.parametrize("bias", [12, 13, 14])
def test_every_sum(bias: int, end: int, zero: str) -> None:
    """Products step by 2^-11, outputs by 2^-end: 1 to 9 bits are cut off, and each sum and fraction occurs."""
    for weight in (1, 3, 127):
        model = network(SHAPES, gemm(f"p{bias}", f"p{end}", zero), **every_sum(weight))
        twin = check_twin(model, [{"x": ROWS}])
        assert twin.rewritten["finer biases"] == 1
        assert kernels(twin)["QGemm"] == 1


@pytest.mark.parametrize("clamp", ["r = Relu(t)", "r = Clip(t, low, high)"])
def test_clamps_behind_it(clamp: str) -> None:
    model = network(SHAPES, gemm("p13", "p6", clamp=clamp), low=-0.4, high=1.1, **every_sum(3))
    twin = check_twin(model, [{"x": ROWS}])
    assert {"finer biases", "clamped codes"} <= twin.rewritten.keys()


@pytest.mark.parametrize("groups", [1, 8])
def test_convolutions(groups: int) -> None:
    body = f"""{pair("x", "xd", "p4")}
        wd = DequantizeLinear(w, p7, i0)
        bd = DequantizeLinear(b, p13, i0)
        t = Conv<pads = [1, 1, 1, 1], group = {groups}>(xd, wd, bd)
        {pair("t", "y", "p3")}"""
    model = network(
        "float[1, 8, 12, 12] x => float[1, 8, 12, 12] y", body, w=codes_of((8, 8 // groups, 3, 3)), b=codes_of((8,), 1)
    )
    twin = check_twin(model, [{"x": on_grid((1, 8, 12, 12), 4, seed)} for seed in range(4)])
    assert kernels(twin)["QLinearConv"] == 1


REFUSED = {
    "an odd zero point": (gemm("p12", "p6", "u127"), 17),
    "nothing is cut off": (gemm("p12", "p11"), 17),
    "too much is cut off": (gemm("p12", "q"), 17),
    "float32 would round": (gemm("far", "p6"), 17),
    "no scales per channel": (gemm("p12", "p6"), 12),
}


@pytest.mark.parametrize("case", REFUSED)
def test_it_stays_float(case: str) -> None:
    body, opset = REFUSED[case]
    wide = {"w": np.full((2, 16), 127, np.int8), "b": np.arange(1, 33, 2).astype(np.int8)}
    twin = check_twin(network(SHAPES, body, opset, q=2.0**3, far=2.0**-22, **wide), [{"x": ROWS}])
    assert "finer biases" not in twin.rewritten
    assert kernels(twin)["Gemm"] == 1
    assert [skip.reason for skip in twin.kept if skip.reason.startswith(FINER)]
