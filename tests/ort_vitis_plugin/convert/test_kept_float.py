"""What onnxruntime would compute on codes otherwise than the model says stays float; the rest does not."""

# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from tests.ort_vitis_plugin.convert.small_networks import check_twin, codes_of, kernels, network, on_grid, pair

IMAGES = [{"x": on_grid((1, 8, 6, 8), 4, seed)} for seed in range(3)]

# Operator, its kernel on codes, and whether that is exact beside an even and beside an odd zero point.
CASES = {
    "mean of 4": ("AveragePool<kernel_shape = [2, 2]>", "QLinearAveragePool", True, False),
    "mean of 9": ("AveragePool<kernel_shape = [3, 3]>", "QLinearAveragePool", False, False),
    "padded mean": ("AveragePool<kernel_shape = [2, 2], pads = [1, 1, 1, 1]>", "QLinearAveragePool", False, False),
    "mean of 48": ("GlobalAveragePool", "QLinearGlobalAveragePool", False, False),
    "softmax": ("Softmax<axis = 1>", "QLinearSoftmax", False, False),
    "leaky": ("LeakyRelu<alpha = 0.1015625>", "QLinearLeakyRelu", True, True),
    "steep": ("LeakyRelu<alpha = 0.3>", "QLinearLeakyRelu", True, True),
    "sigmoid": ("Sigmoid", "QLinearSigmoid", True, True),
}


@pytest.mark.parametrize("zero", ["u128", "u127"])
@pytest.mark.parametrize("case", CASES)
def test_one_input(case: str, zero: str) -> None:
    op, kernel, even, odd = CASES[case]
    body = f"{pair('x', 'xd', 'p4')}\nt = {op}(xd)\n{pair('t', 'y', 'p5', zero)}"
    twin = check_twin(network("float[1, 8, 6, 8] x => float[1, 8, h, w] y", body), IMAGES)
    assert kernels(twin)[kernel] == (even if zero == "u128" else odd)
    assert len(twin.kept) == (0 if kernels(twin)[kernel] else 1)


@pytest.mark.parametrize("alpha", [0.01, 26 / 256, 0.2, 0.25, 0.3, -0.5, 1.7])
@pytest.mark.parametrize("end", [3, 4, 5, 6])
def test_every_code_of_leaky_relu(alpha: float, end: int) -> None:
    body = f"{pair('x', 'xd', 'p4')}\nt = LeakyRelu<alpha = {alpha:.8f}>(xd)\n{pair('t', 'y', f'p{end}')}"
    check_twin(network("float[256] x => float[256] y", body), [{"x": ((np.arange(256) - 128) / 16).astype(np.float32)}])


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_resize(mode: str) -> None:
    body = f'{pair("x", "xd", "p4")}\nt = Resize<mode = "{mode}">(xd, , sizes)\n{pair("t", "y", "p4")}'
    sizes = np.float32([1, 1, 2, 2])
    twin = check_twin(network("float[1, 8, 6, 8] x => float[1, 8, 12, 16] y", body, sizes=sizes), IMAGES)
    assert [skip.op_type for skip in twin.kept] == ([] if mode == "nearest" else ["Resize"])


def test_two_pairs_in_a_row() -> None:
    body = f"{pair('x', 'a', 'p6')}\n{pair('a', 'y', 'p3')}"
    samples = [{"x": on_grid((300,), 8, seed)} for seed in range(3)]
    assert kernels(check_twin(network("float[300] x => float[300] y", body), samples))["QuantizeLinear"] == 2
    body = f"{pair('x', 'a', 'p6')}\n{pair('a', 'y', 'p6')}"
    assert kernels(check_twin(network("float[300] x => float[300] y", body), samples))["QuantizeLinear"] == 1


@pytest.mark.parametrize("zero", ["u128", "u127"])
@pytest.mark.parametrize("clamp", ["", "r = Relu(t)"])
def test_a_float_bias_is_not_quantized_behind_our_back(clamp: str, zero: str) -> None:
    body = f"""{pair("x", "xd", "p4")}
        wd = DequantizeLinear(w, p7, i0)
        t = Conv(xd, wd, b)
        {clamp}
        {pair("r" if clamp else "t", "y", "p2", zero)}"""
    bias = np.random.default_rng(3).standard_normal(16).astype(np.float32)
    model = network("float[1, 8, 6, 8] x => float[1, 16, 4, 6] y", body, w=codes_of((16, 8, 3, 3)), b=bias)
    twin = check_twin(model, IMAGES)
    assert kernels(twin)["Conv"] == 1


def test_scales_that_are_no_powers_of_two_stay_as_onnxruntime_has_them() -> None:
    body = f"{pair('x', 'xd', 's')}\nt = GlobalAveragePool(xd)\n{pair('t', 'y', 's')}"
    from ort_vitis_plugin import evaluation_twin

    twin = evaluation_twin(network("float[1, 8, 6, 8] x => float[1, 8, 1, 1] y", body, s=0.03))
    assert kernels(twin)["QLinearGlobalAveragePool"] == 1
    assert twin.kept
    assert all("power of two" in skip.reason for skip in twin.kept)
