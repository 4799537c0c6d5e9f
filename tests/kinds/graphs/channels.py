"""Channels that lie elsewhere than where most layers have them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ..checks import model
from ..checks import weights as w
from .shapes import IMAGE, Builder

CHANNELS: dict[str, Builder] = {
    "depthwise conv": lambda: model(
        "t (float[1, 4, 6, 6] x) => (float[1, 4, 4, 4] y) { y = Conv<group = 4>(x, w, b) }",
        {"w": w(1, 4, 1, 3, 3), "b": w(2, 4)},
    ),
    "grouped conv": lambda: model(
        "t (float[1, 4, 6, 6] x) => (float[1, 6, 4, 4] y) { y = Conv<group = 2>(x, w, b) }",
        {"w": w(1, 6, 2, 3, 3), "b": w(2, 6)},
    ),
    "conv in one dimension": lambda: model(
        "t (float[1, 3, 12] x) => (float[1, 4, 10] y) { h = Conv(x, w, b) y = Relu(h) }",
        {"w": w(1, 4, 3, 3), "b": w(2, 4)},
    ),
    "conv in three dimensions": lambda: model(
        "t (float[1, 2, 4, 4, 4] x) => (float[1, 3, 2, 2, 2] y) { h = Conv(x, w, b) y = Relu(h) }",
        {"w": w(1, 3, 2, 3, 3, 3), "b": w(2, 3)},
    ),
    "ConvTranspose with groups and bias": lambda: model(
        "t (float[1, 4, 6, 6] x) => (float[1, 6, 8, 8] y) { y = ConvTranspose<group = 2>(x, w, b) }",
        {"w": w(1, 4, 3, 3, 3), "b": w(2, 6)},
    ),
    "depthwise ConvTranspose with strides": lambda: model(
        "t (float[1, 4, 4, 4] x) => (float[1, 4, 8, 8] y) { y = ConvTranspose<group = 4, strides = [2, 2]>(x, w, b) }",
        {"w": w(1, 4, 1, 2, 2), "b": w(2, 4)},
    ),
    "ConvTranspose in one dimension": lambda: model(
        "t (float[1, 4, 6] x) => (float[1, 3, 8] y) { y = ConvTranspose(x, w, b) }", {"w": w(1, 4, 3, 3), "b": w(2, 3)}
    ),
    "Gemm with alpha and beta": lambda: model(
        "t (float[2, 8] x) => (float[2, 6] y) { y = Gemm<alpha = 2.0, beta = 0.5>(x, w, b) }",
        {"w": w(1, 8, 6), "b": w(2, 6, scale=3)},
    ),
    "Gemm with beta 0": lambda: model(
        "t (float[2, 8] x) => (float[2, 6] y) { y = Gemm<beta = 0.0>(x, w, b) }",
        {"w": w(1, 8, 6), "b": w(2, 6, scale=3)},
    ),
    "Gemm with transA and a bias of one row": lambda: model(
        "t (float[8, 2] x) => (float[2, 6] y) { y = Gemm<transA = 1, transB = 1>(x, w, b) }",
        {"w": w(1, 6, 8), "b": w(2, 1, 6)},
    ),
    "Gemm with a scalar bias": lambda: model(
        "t (float[2, 8] x) => (float[2, 6] y) { y = Gemm(x, w, b) }", {"w": w(1, 8, 6), "b": 0.7}
    ),
    "Gemm with a bias per row": lambda: model(
        "t (float[2, 8] x) => (float[2, 6] y) { y = Gemm(x, w, b) }", {"w": w(1, 8, 6), "b": w(3, 2, 1)}
    ),
    "Gemm with a bias per element": lambda: model(
        "t (float[2, 8] x) => (float[2, 6] y) { y = Gemm(x, w, b) }", {"w": w(1, 8, 6), "b": w(3, 2, 6)}
    ),
    "Gemm without bias": lambda: model("t (float[2, 8] x) => (float[2, 6] y) { y = Gemm(x, w) }", {"w": w(1, 8, 6)}),
    "Gemm of two activations with alpha and a constant bias": lambda: model(
        "t (float[2, 8] x, float[8, 6] v) => (float[2, 6] y) { y = Gemm<alpha = 0.5>(x, v, b) }", {"b": w(3, 6)}
    ),
    "Gemm of constant A": lambda: model(
        "t (float[8, 6] x) => (float[2, 6] y) { y = Gemm<alpha = 2.0>(w, x, b) }", {"w": w(1, 2, 8), "b": w(3, 6)}
    ),
    "MatMul of two activations": lambda: model(
        "t (float[1, 4, 6] x, float[1, 6, 5] v) => (float[1, 4, 5] y) { y = MatMul(x, v) }"
    ),
    "MatMul of a constant from the left": lambda: model(
        "t (float[8, 3] x) => (float[4, 3] y) { y = MatMul(w, x) }", {"w": w(1, 4, 8)}
    ),
    "MatMul with batched weights": lambda: model(
        "t (float[2, 4, 8] x) => (float[2, 4, 6] y) { y = MatMul(x, w) }", {"w": w(1, 2, 8, 6)}
    ),
    "MatMul with a vector": lambda: model("t (float[4, 8] x) => (float[4] y) { y = MatMul(x, w) }", {"w": w(1, 8)}),
    "conv with an empty bias": lambda: model(
        f"t {IMAGE} {{ y = Conv<pads = [1, 1, 1, 1]>(x, w, ) }}", {"w": w(1, 4, 3, 3, 3)}
    ),
    "conv with computed weights": lambda: model(
        "t (float[1, 3, 6, 6] x, float[4, 3, 3, 3] v) => (float[1, 4, 4, 4] y) { k = Tanh(v) y = Conv(x, k, b) }",
        {"b": w(1, 4)},
    ),
    "conv with a computed bias": lambda: model(
        "t (float[1, 3, 6, 6] x, float[4] v) => (float[1, 4, 4, 4] y) { b = Tanh(v) y = Conv(x, w, b) }",
        {"w": w(1, 4, 3, 3, 3)},
    ),
}
