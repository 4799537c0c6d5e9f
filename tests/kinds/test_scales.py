"""Operands of any magnitude: no rule of the device costs an output more than 3 dB unseen."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ort_vitis_plugin.plugin.catalog import shared_catalog

from .checks import model, quantized, weights

RULES = [rule.key for rule in shared_catalog().adjusters(["ipu_cnn"])]
CONV = "c = Conv<pads = [1, 1, 1, 1]>(x, w, b) "
BLOCKS: dict[str, tuple[str, tuple[str, ...]]] = {
    "Conv and Relu": (CONV + "y = Relu(c)", ("w", "b")),
    "Conv and LeakyRelu": (CONV + "y = LeakyRelu<alpha = 0.1>(c)", ("w", "b")),
    "ConvTranspose": ("y = ConvTranspose<pads = [1, 1, 1, 1]>(x, w, b)", ("w", "b")),
    "Gemm": ("f = Flatten(x) y = Gemm(f, m, n)", ("m", "n")),
    "Conv, Add of a constant": (CONV + "y = Add(c, k)", ("w", "b", "k")),
    "Conv, Mul by a constant": (CONV + "y = Mul(c, k)", ("w", "b", "k")),
    "two branches added": (CONV + "d = Conv(x, v) y = Add(c, d)", ("w", "b", "v")),
    "two branches multiplied": (CONV + "d = Conv(x, v) y = Mul(c, d)", ("w", "b", "v")),
    "two branches concatenated": (CONV + "d = Conv(x, v) y = Concat<axis = 1>(c, d)", ("w", "b", "v")),
    "swish": (CONV + "h = HardSigmoid<alpha = 0.16666667>(c) y = Mul(c, h)", ("w", "b")),
    "pooled": (CONV + "r = Relu(c) p = MaxPool<kernel_shape = [2, 2]>(r) y = Conv(p, u, b)", ("w", "b", "u")),
}
SHAPES = {
    "w": (4, 4, 3, 3),
    "b": (4,),
    "v": (4, 4, 1, 1),
    "u": (4, 4, 1, 1),
    "k": (1, 4, 1, 1),
    "m": (144, 4),
    "n": (4,),
}


def least_difference(block: str, magnitudes: Mapping[str, float], seed: int) -> tuple[float, str]:
    """SQNR with all rules minus that without them, and what the report says of rules."""
    text, names = BLOCKS[block]
    rank = "4" if block == "Gemm" else None
    shape = "float[1, 4]" if rank else "float"
    constants = {
        name: weights(seed + at, *SHAPES[name], scale=0.5) * magnitudes.get(name, 1.0) for at, name in enumerate(names)
    }
    source = model(f"t (float[1, 4, 6, 6] x) => ({shape} y) {{ {text} }}", constants)
    if not rank:
        source.graph.output[0].type.tensor_type.ClearField("shape")
    draw = np.random.default_rng(seed)
    feeds = [{"x": draw.standard_normal((1, 4, 6, 6)).astype(np.float32)} for _ in range(4)]
    options: dict[str, Any] = {"enable_dpu": True}
    on = quantized(source, feeds, **options, calibrate_method="MinMSE")
    off = quantized(source, feeds, **options, calibrate_method="MinMSE", extra_options=dict.fromkeys(RULES, False))
    return on.report.sqnr["y"] - off.report.sqnr["y"], " ".join(on.report.violations + on.report.notes)


def assert_harmless(block: str, magnitudes: Mapping[str, float], seed: int = 1) -> None:
    lost, said = least_difference(block, magnitudes, seed)
    assert lost >= -3 or any(rule in said for rule in RULES), f"{lost:.1f} dB, and the report says {said!r}"


@pytest.mark.parametrize("bias", [1e-6, 2e-7, 5e-9, 1e6])
def test_a_tiny_bias_loses_its_bits_before_the_output_clips(bias: float) -> None:
    lost, said = least_difference("Conv and Relu", {"b": bias}, 1)
    assert lost >= -1, said


@pytest.mark.parametrize(
    ("block", "magnitudes"),
    [
        ("Conv and LeakyRelu", {"b": 1e-7}),
        ("ConvTranspose", {"b": 1e-7}),
        ("Gemm", {"n": 1e-7}),
        ("Gemm", {"n": 1e7}),
        ("Conv, Add of a constant", {"k": 1e-8}),
        ("Conv, Add of a constant", {"k": 1e7}),
        ("two branches added", {"v": 1e-9}),
        ("two branches added", {"v": 1e9}),
        ("pooled", {"u": 1e-7}),
        ("swish", {"w": 1e4, "b": 1e4}),
        ("swish", {"b": 10.0**1.375}),
    ],
)
def test_no_rule_ruins_an_output_unseen(block: str, magnitudes: dict[str, float]) -> None:
    for seed in (1, 3, 5):
        assert_harmless(block, magnitudes, seed)


@pytest.mark.slow
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(sorted(BLOCKS)),
    st.fixed_dictionaries({name: st.floats(-9, 9).map(lambda power: 10.0**power) for name in SHAPES}),
    st.integers(0, 99),
)
def test_at_any_magnitudes_a_loss_is_small_or_reported(block: str, magnitudes: dict[str, float], seed: int) -> None:
    assert_harmless(block, magnitudes, seed)
