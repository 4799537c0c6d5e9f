"""A bias becomes int32 where that is exact: where it is a whole number of the steps of the products."""

# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from tests.ort_vitis_plugin.convert.small_networks import check_twin, codes_of, kernels, network, on_grid, pair


def linear(op: str, bias: str, attributes: str = "") -> str:
    weight = "wd = DequantizeLinear(w, p7, i0)"
    return f"{pair('x', 'xd', 'p4')}\n{weight}\n{bias}\nt = {op}{attributes}(xd, wd, bd)\n{pair('t', 'y', 'p1')}"


GEMM = {"w": codes_of((8, 5)), "b": codes_of((5,), 1)}
ROWS = [{"x": on_grid((3, 8), 4, seed)} for seed in range(3)]
SHAPES = "float[3, 8] x => float[3, 5] y"


@pytest.mark.parametrize("position", range(2, 15))
def test_positions(position: int) -> None:
    model = network(SHAPES, linear("Gemm", f"bd = DequantizeLinear(b, p{position}, i0)"), **GEMM)
    twin = check_twin(model, ROWS)
    assert twin.rewritten == {"int32 biases" if position <= 11 else "finer biases": 1}
    assert kernels(twin)["QGemm"] == 1


CASES = {
    "finer steps, but even codes": ("bd = DequantizeLinear(b, p12, i0)", np.int8([2, -4, 126, 0, 8]), 1),
    "no codes at all": ("bd = Identity(b)", (np.float32([3, -1, 0, 7, 2]) / 2048), 0),
    "a float between the steps": ("", np.float32([0.3, -1, 0, 7, 2]), 0),
    "floats that are steps": ("", np.float32([3, -1, 0, 7, 2]) / 2048, 1),
    "too far from its products": ("bd = DequantizeLinear(b, large, i0)", np.int8([100, 0, 0, 0, 0]), 0),
}


@pytest.mark.parametrize("case", CASES)
def test_what_counts_is_the_number(case: str) -> None:
    text, bias, whole = CASES[case]
    body = linear("Gemm", text) if text else linear("Gemm", "").replace("bd", "b")
    twin = check_twin(network(SHAPES, body, w=GEMM["w"], b=bias, large=2.0**8), ROWS)
    assert kernels(twin)["QGemm"] == whole


@pytest.mark.parametrize("attributes", ["<alpha = 0.5>", "<beta = 2.0>"])
def test_gemm_that_multiplies(attributes: str) -> None:
    model = network(SHAPES, linear("Gemm", "bd = DequantizeLinear(b, p9, i0)", attributes), **GEMM)
    assert "int32 biases" not in check_twin(model, ROWS).rewritten


@pytest.mark.parametrize("op", ["Conv", "Gemm"])
def test_a_scale_per_channel(op: str) -> None:
    scales = (2.0 ** -np.arange(5, 10)).astype(np.float32)
    shape = (5, 3, 1, 1) if op == "Conv" else (5, 3)
    end = "" if op == "Conv" else "<transB = 1>"
    body = f"""{pair("x", "xd", "p4")}
        wd = DequantizeLinear<axis = 0>(w, scales, zeros)
        bd = DequantizeLinear(b, p9, i0)
        t = {op}{end}(xd, wd, bd)
        {pair("t", "y", "p1")}"""
    shapes = "float[1, 3, 4, 4] x => float[1, 5, 4, 4] y" if op == "Conv" else "float[2, 3] x => float[2, 5] y"
    x = on_grid((1, 3, 4, 4) if op == "Conv" else (2, 3), 4)
    model = network(shapes, body, w=codes_of(shape), scales=scales, zeros=np.zeros(5, np.int8), b=codes_of((5,)))
    twin = check_twin(model, [{"x": x}])
    assert kernels(twin)["QLinearConv" if op == "Conv" else "QGemm"] == 1
