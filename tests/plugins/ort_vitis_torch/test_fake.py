"""Fake quantizers against numpy's arithmetic, the core's, onnxruntime's operators, and the closed form of gradients."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install ort-vitis-plugin[torch]")

from ort_vitis_plugin.api import QuantType, fake_quant, qtype  # noqa: E402
from ort_vitis_torch.fake import TQT, FixedPow2, FloatScale, Int32Bias  # noqa: E402
from ort_vitis_torch.host_calls import run  # noqa: E402


def values(count: int = 10_000, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(0, 3, count).astype(np.float32)


def in_onnxruntime(x: Any, scale: float, zero: int) -> Any:
    model = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 17]> g (float[n] x) => (float[n] y)
        <float s = {{{scale!r}}}, int8 z = {{{zero}}}> {{q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z)}}"""
    )
    return run(model, {"x": x})[0]


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize(("position", "zero"), [(-3, 0), (0, 0), (4, -128), (7, -14), (12, 0)])
def test_a_power_of_two_gives_onnxruntimes_and_the_cores_values(position: int, zero: int, grad: bool) -> None:
    x = values()
    with torch.set_grad_enabled(grad):
        here = FixedPow2(position, zero)(torch.from_numpy(x)).numpy()
    assert np.array_equal(here, in_onnxruntime(x, 2.0**-position, zero))
    assert np.array_equal(here, fake_quant(x, position, qtype(QuantType.QInt8), zero))


@pytest.mark.parametrize("half", [-128.5, -127.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 126.5, 127.5])
def test_ties_go_to_the_even_code_and_ends_saturate(half: float) -> None:
    x = torch.tensor([half / 16])
    wanted = min(max(round(half), -128), 127) / 16
    assert FixedPow2(4)(x).item() == wanted


def test_float_scales_are_onnxruntimes_too() -> None:
    x = values()
    here = FloatScale(0.0317, 5)(torch.from_numpy(x)).numpy()
    assert np.array_equal(here, in_onnxruntime(x, 0.0317, 5))


def test_channels_have_scales_of_their_own_along_the_axis() -> None:
    x = torch.from_numpy(values(24)).reshape(2, 3, 4)
    by_channel = FloatScale([0.5, 0.25, 0.125], [0, 0, 0], axis=1)(x)
    for at, scale in enumerate((0.5, 0.25, 0.125)):
        assert torch.equal(by_channel[:, at], FloatScale(scale)(x[:, at]))


@pytest.mark.parametrize(("position", "zero"), [(3, 0), (5, -128), (2, 17)])
def test_the_gradient_of_a_threshold_is_the_closed_form(position: int, zero: int) -> None:
    x = torch.from_numpy(values()).requires_grad_()
    weight = torch.from_numpy(values(seed=1))
    tqt = TQT(position, zero)
    (tqt(x) * weight).sum().backward()
    scale = 2.0**-position
    ratio, w = x.detach().numpy().astype(np.float64) / scale, weight.numpy().astype(np.float64)
    codes = np.rint(ratio) + zero
    inside = (codes >= -128) & (codes <= 127)
    slope = np.where(inside, codes - zero - ratio, np.clip(codes, -128, 127) - zero)
    wanted = float((w * slope).sum() * scale * math.log(2))
    assert tqt.log_threshold.grad.item() == pytest.approx(wanted, rel=1e-6, abs=1e-6 * np.abs(w * slope).sum() * scale)
    assert np.array_equal(x.grad.numpy(), np.where(inside, weight.numpy(), 0))


def test_a_threshold_that_grows_by_a_bit_doubles_the_step_and_stays_below_its_highest_value() -> None:
    tqt = TQT(5, -128, highest=6.0)
    tqt.start_at(6)
    assert tqt.position == 6
    with torch.no_grad():
        tqt.log_threshold += 4
    assert tqt.position == 6  # 255 / 2^6 = 3.98 <= 6 < 255 / 2^5
    assert TQT(3, limits=(-4, 3)).scale() == 2.0**-3


def test_frozen_thresholds_get_no_gradient_and_disabled_quantizers_pass() -> None:
    tqt = TQT(2)
    tqt.frozen = True
    x = torch.tensor([0.3], requires_grad=True)
    tqt(x).sum().backward()
    assert tqt.log_threshold.grad is None
    tqt.enabled = False
    assert torch.equal(tqt(x), x)


def test_a_bias_lies_on_the_grid_of_the_accumulator() -> None:
    bias = Int32Bias(FixedPow2(5), FloatScale([0.25, 0.125], [0, 0], axis=0))
    rounded = bias(torch.tensor([0.1, 0.1]))
    steps = torch.tensor([2.0**-7, 2.0**-8])
    assert torch.equal(rounded, torch.round(torch.tensor([0.1, 0.1]) / steps) * steps)


def test_under_gradients_values_are_the_same() -> None:
    x = torch.from_numpy(values())
    with torch.no_grad():
        plain = TQT(3, -5)(x)
    assert torch.equal(TQT(3, -5)(x.requires_grad_()).detach(), plain)


@pytest.mark.parametrize(("zero_point", "highest"), [(127, 0.0), (0, 0.0), (127, 6.0)])
def test_a_bound_that_no_code_can_pass_leaves_the_step_alone(zero_point: int, highest: float) -> None:
    quantizer = TQT(3, zero_point, highest=highest)
    assert float(quantizer.scale().detach()) == 0.125
    assert torch.isfinite(quantizer(torch.tensor([-1.0, 1.0]))).all()
    assert TQT(3, -128, highest=6.0).scale() * 255 <= 6
