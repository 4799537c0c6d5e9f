"""A tiny constant beside a large activation loses its bits; the activation keeps its range."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.numerics.qtypes import INT8
from ort_vitis_plugin.plan.error_curve import ErrorCurve
from ort_vitis_plugin.sketch import Sketch
from ort_vitis_plugin.solver.error_weight import ErrorWeights
from ort_vitis_plugin.testing import graph, plan
from tests.zoo.configurations import NPU_CNN

if TYPE_CHECKING:
    from collections.abc import Callable

    from onnx import ModelProto

    from tests.models.networks import FeedReader


def samples() -> list[dict[str, np.ndarray]]:
    draw = np.random.default_rng(0)
    return [{"x": draw.uniform(-30, 30, (1, 4, 8, 8)).astype(np.float32)} for _ in range(4)]


def addition(constant: float) -> ModelProto:
    return onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 17]>
        t (float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y) <float[1] c = {{{constant}}}>
        {{ r = Relu(x) y = Add(r, c) }}"""
    )


@pytest.mark.parametrize("constant", [1e-4, 1e-10])
def test_a_tiny_addend_never_clips_what_it_is_added_to(
    constant: float, reader: Callable[[list[dict[str, np.ndarray]]], FeedReader]
) -> None:
    result = quantize_static(addition(constant), None, reader(samples()), **NPU_CNN)
    assert not result.report.violations
    assert {move.tensor for move in result.report.moves} == {"c"}
    assert result.report.sqnr["y"] > 40


def test_an_addend_of_weight_keeps_its_bits(reader: Callable[[list[dict[str, np.ndarray]]], FeedReader]) -> None:
    result = quantize_static(addition(5.0), None, reader(samples()), **NPU_CNN)
    assert not result.report.moves
    assert result.report.sqnr["y"] > 40


def curve(value: float) -> ErrorCurve:
    sketch = Sketch()
    sketch.add(np.full(4, value, np.float32))
    return ErrorCurve(sketch, INT8, INT8.limits(), True)


@pytest.mark.parametrize(("bias", "share"), [("", 1.0), (", b", 0.04)])
def test_a_product_counts_by_its_share_where_something_is_added_to_it(bias: str, share: float) -> None:
    """Of a node without a bias the product is the whole result."""
    text = f"t (float[1, 2] x) => (float[1, 2] y) {{ h = Gemm(x, w{bias}) y = Sigmoid(h) }}"
    constants = {name: np.ones(2 if name == "b" else (2, 2), np.float32) for name in ("w", "b") if name in "w" + bias}
    made = plan(graph(text, 17, constants), dict.fromkeys(["x", "h", "y", *constants], 3))
    for name, value in {"x": 0.1, "w": 1.0, "h": 1.0, "y": 10.0}.items():
        made.tensors[name].curve = curve(value)
    assert ErrorWeights(made).of("w") == pytest.approx(share)
    assert ErrorWeights(made).of("x") == pytest.approx(share)
    assert ErrorWeights(made).of("h") == 1.0


def test_what_leads_to_a_small_addend_counts_as_little_as_it() -> None:
    text = "t (float[1, 2] x, float[1, 2] z) => (float[1, 2] y) { a = Relu(x) b = Abs(a) s = Add(b, z) y = Neg(s) }"
    made = plan(graph(text), dict.fromkeys("xzabsy", 3))
    for name, value in {"x": 0.1, "a": 0.1, "b": 0.1, "z": 1.0, "s": 1.0, "y": 1.0}.items():
        made.tensors[name].curve = curve(value)
    weights = ErrorWeights(made)
    assert [weights.of(name) for name in "xab"] == [pytest.approx(0.01)] * 3
    assert weights.of("z") == weights.of("s") == 1.0
