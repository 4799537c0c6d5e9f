"""Results that leave the model, and sums on their way through bias and activation, are in no block."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from ort_vitis_block import BLOCK_TYPES
from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.testing import LEVELS, graph, run_model

RNG = np.random.default_rng(5)
W, B = RNG.normal(size=(16, 8)).astype(np.float32), RNG.normal(size=8).astype(np.float32)
FEED = {"x": RNG.normal(size=(2, 3, 16)).astype(np.float32)}
# Of fixed sizes onnxruntime makes a Gemm, whose bias is float in any case.
BIASED = "t (float[N, T, 16] x) => (float[N, T, 8] y) { m = MatMul(x, w) a = Add(b, m) y = Relu(a) }"


# One element alone passes a block op as it is.
NUMBERS = {"root": 2.0**0.5, "one": 1.0, "half": 0.5}


def quantized(text: str, preset: str = "BFP16", **options: Any) -> Any:
    constants = {name: np.float32(value) for name, value in NUMBERS.items()}
    constants |= {"w": W, "b": B, "factors": B, "full": RNG.normal(size=(3, 8)).astype(np.float32)}
    used = {name: value for name, value in constants.items() if name in text}
    return quantize_static(graph(text, 18, used), None, None, extra_options={"Preset": preset, **options})


def in_blocks(model: onnx.ModelProto) -> set[str]:
    ends = (node.input[0] for node in model.graph.node if node.op_type in ("BFPFixNeuron", "MXFixNeuron"))
    return {name.removesuffix("_QuantizeLinear_Input") for name in ends}


@pytest.mark.parametrize("preset", ["BFP16", "MXINT8"])
def test_sums_meet_bias_and_activation_in_float(preset: str) -> None:
    result = quantized(BIASED, preset)
    assert in_blocks(result.model) == {"x", "w"}
    q = BLOCK_TYPES[f"Q{preset}"].quantize_dequantize
    wanted = np.maximum(np.matmul(q(FEED["x"], -1), q(W, 0)) + B, 0)
    for level in LEVELS:
        found = run_model(result.model, FEED, level)["y"]
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("text", "held"),
    {
        "an output that is read": (
            "t (float[N, T, 16] x) => (float[N, T, 8] y, float[N, T, 8] z) { y = MatMul(x, w) z = Relu(y) }",
            {"x", "w", "y"},
        ),
        "an activation that is read": (
            "t (float[N, T, 16] x) => (float[N, T, 8] y) { m = MatMul(x, w) a = Relu(m) y = Neg(a) }",
            {"x", "w", "a"},
        ),
        "a second activation": (
            "t (float[N, T, 16] x) => (float[N, T, 8] y) { m = MatMul(x, w) a = LeakyRelu(m) c = Relu(a) y = Neg(c) }",
            {"x", "w", "a", "c"},
        ),
        "a product that is read twice": (
            "t (float[N, T, 16] x) => (float[N, T, 8] y) { m = MatMul(x, w) a = Add(m, b) y = Mul(a, m) }",
            {"x", "w", "m", "b", "a"},
        ),
        "a product that is an output": (
            "t (float[N, T, 16] x) => (float[N, T, 8] m, float[N, T, 8] y) { m = MatMul(x, w) y = Add(m, b) }",
            {"x", "w", "m", "b"},
        ),
        "a constant that is no bias": (
            "t (float[N, T, 16] x) => (float[N, T, 8] y) { m = MatMul(x, w) y = Add(m, full) }",
            {"x", "w", "m", "full"},
        ),
        "a bias that another node multiplies with": (
            "t (float[N, T, 16] x) => (float[N, T, 8] y) { m = MatMul(x, w) a = Add(m, b) y = Mul(a, b) }",
            {"x", "w", "b", "a"},
        ),
    }.values(),
)
def test_what_others_read_stays_in_blocks(text: str, held: set[str]) -> None:
    assert in_blocks(quantized(text).model) == held


GELU = "d = Div(m, root) e = Erf(d) a = Add(e, one) g = Mul(m, a) h = Mul(g, half)"


@pytest.mark.parametrize(
    ("text", "held"),
    {
        "a factor of a product": (
            "t (float[N, T, 16] x) => (float[N, T, 8] y) { m = MatMul(x, w) d = Mul(half, m) y = Neg(d) }",
            {"x", "w", "d"},
        ),
        "a product through Gelu": (
            f"t (float[N, T, 16] x) => (float[N, T, 8] y) {{ m = MatMul(x, w) {GELU} y = Neg(h) }}",
            {"x", "w", "h"},
        ),
        "Gelu of what others read": (
            f"t (float[N, T, 16] x) => (float[N, T, 8] y) {{ m = MatMul(x, w) {GELU} y = Add(h, m) }}",
            {"x", "w", "m", "h"},
        ),
        "a sum that a normalization reads, and its factors": (
            "t (float[N, T, 8] x, float[N, T, 8] z) => (float[N, T, 8] y) "
            "{ s = Add(x, z) n = LayerNormalization(s, factors) y = Neg(n) }",
            {"x", "z", "n"},
        ),
        "a sum that goes on beside the normalization": (
            "t (float[N, T, 8] x, float[N, T, 8] z) => (float[N, T, 8] y) "
            "{ s = Add(x, z) n = LayerNormalization(s, factors) y = Add(n, s) }",
            {"x", "z", "s", "n"},
        ),
    }.values(),
)
def test_steps_of_one_operation_stay_float(text: str, held: set[str]) -> None:
    assert in_blocks(quantized(text).model) - NUMBERS.keys() == held


def test_steps_have_their_switch() -> None:
    text = f"t (float[N, T, 16] x) => (float[N, T, 8] y) {{ m = Neg(x) {GELU} y = Neg(h) }}".replace("T, 8", "T, 16")
    assert in_blocks(quantized(text).model) - NUMBERS.keys() == {"m", "h"}
    assert {"e", "a", "g"} <= in_blocks(quantized(text, FloatBlockSteps=False).model)


def test_each_has_its_switch() -> None:
    text = "t (float[N, T, 16] x) => (float[N, T, 8] y) { m = MatMul(x, w) y = Add(m, b) }"
    assert in_blocks(quantized(text).model) == {"x", "w"}
    assert in_blocks(quantized(text, FloatBlockOutput=False).model) == {"x", "w", "y"}
    assert in_blocks(quantized(text, FloatBlockSums=False).model) == {"x", "w", "m", "b"}


def test_a_model_of_several_kinds_of_types_is_left_alone() -> None:
    assert "y" in quantized(BIASED, "BF16_BFP16").report.types
    mixed = quantized(BIASED, MixedTypes={"MatMul": "QBFloat16"})
    assert {"m", "b"} <= set(mixed.report.types)


def test_the_story_of_a_tensor_says_why() -> None:
    tensors = quantized(BIASED).report.tensors
    assert "sums" in str(tensors["m"])
    assert "leaves the model" in str(tensors["y"])
