"""Hand-written graphs as exporters leave them, by what is odd about them. Every configuration must take every graph."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnxruntime
from onnx import ModelProto

from .checks import model, weights

Builder = Callable[[], ModelProto]
LOWEST = np.finfo(np.float32).min

w = weights
IMAGE = "(float[1, 3, 6, 6] x) => (float[1, 4, 6, 6] y)"
MATRIX = "(float[2, 8] x) => (float[2, 8] y)"
TOKENS = "(float[1, 4, 8] x) => (float[1, 4, 8] y)"

# ---------------------------------------------------------------------- shared initializers

SHARED: dict[str, Builder] = {
    "bias of two convs of far scales": lambda: model(
        """t (float[1, 4, 6, 6] x) => (float[1, 4, 6, 6] y)
        { h = Conv<pads = [1, 1, 1, 1]>(x, w1, b) k = Mul(h, fifty) y = Conv<pads = [1, 1, 1, 1]>(k, w2, b) }""",
        {
            "w1": w(1, 4, 4, 3, 3, scale=0.2),
            "w2": w(2, 4, 4, 3, 3, scale=0.02),
            "b": [3.0, -2.0, 1.0, -4.0],
            "fifty": 50.0,
        },
    ),
    "bias of a conv is an operand of an Add": lambda: model(
        f"t {IMAGE} {{ h = Conv<pads = [1, 1, 1, 1]>(x, w, b) r = Reshape(b, s) y = Add(h, r) }}",
        {"w": w(1, 4, 3, 3, 3), "b": w(2, 4), "s": np.array([1, 4, 1, 1])},
    ),
    "one vector is bias of a Gemm and operand of Mul and Add": lambda: model(
        f"t {MATRIX} {{ h = Gemm(x, w, b) m = Mul(h, b) y = Add(m, b) }}", {"w": w(1, 8, 8), "b": w(2, 8)}
    ),
    "bias of Gemm and Conv": lambda: model(
        """t (float[1, 4, 5, 5] x) => (float[1, 4] y)
        { h = Conv(x, w, b) p = GlobalAveragePool(h) f = Flatten(p) y = Gemm(f, v, b) }""",
        {"w": w(1, 4, 4, 3, 3), "v": w(2, 4, 4), "b": w(3, 4)},
    ),
    "weight of Gemm with and without transB": lambda: model(
        "t (float[2, 8] x) => (float[2, 8] y) { h = Gemm<transB = 1>(x, w, b1) r = Relu(h) y = Gemm(r, w, b2) }",
        {"w": w(1, 4, 8), "b1": w(2, 4), "b2": w(3, 8)},
    ),
    "tied embedding through Transpose": lambda: model(
        """t (int64[1, 4] ids) => (float[1, 4, 16] y)
        { e = Gather(w, ids) l = LayerNormalization<axis = -1>(e, g, b) t = Transpose<perm = [1, 0]>(w)
          y = MatMul(l, t) }""",
        {"w": w(1, 16, 8), "g": np.ones(8), "b": np.zeros(8)},
    ),
    "one weight in two convs, one of them transposed": lambda: model(
        """t (float[1, 4, 6, 6] x) => (float[1, 4, 6, 6] y)
        { h = Conv<pads = [1, 1, 1, 1]>(x, w) y = ConvTranspose<pads = [1, 1, 1, 1]>(h, w) }""",
        {"w": w(1, 4, 4, 3, 3, scale=0.3)},
    ),
    "weight of a MatMul is operand of an Add": lambda: model(
        "t (float[8, 8] x) => (float[8, 8] y) { h = MatMul(x, w) y = Add(h, w) }", {"w": w(1, 8, 8)}
    ),
    "weight is used twice by one node": lambda: model(
        "t (float[8, 8] x) => (float[8, 8] y) { h = MatMul(w, w) y = MatMul(x, h) }", {"w": w(1, 8, 8)}
    ),
    "two Clips share their limits, a Pad its value": lambda: model(
        """t (float[1, 3, 6, 6] x) => (float[1, 4, 4, 4] y)
        { a = Conv(x, w1) c = Clip(a, zero, six) p = Pad(c, pads, zero) d = Conv(p, w2) y = Clip(d, zero, six) }""",
        {
            "w1": w(1, 4, 3, 3, 3),
            "w2": w(2, 4, 4, 3, 3),
            "zero": 0.0,
            "six": 6.0,
            "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1]),
        },
    ),
    "two Pads share a value that is data": lambda: model(
        """t (float[1, 3, 6, 6] x) => (float[1, 4, 6, 6] y)
        { a = Conv(x, w1) p = Pad(a, pads, half) b = Conv(p, w2) q = Pad(b, pads, half) y = Relu(q) }""",
        {
            "w1": w(1, 4, 3, 3, 3),
            "w2": w(2, 4, 4, 3, 3),
            "half": 0.5,
            "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1]),
        },
    ),
}

# ---------------------------------------------------------------------- names

NAMES: dict[str, Builder] = {
    "a graph input is called as the scale of another": lambda: model(
        """t (float[2, 8] x, float[2, 8] x_scale) => (float[2, 8] y)
        { h = MatMul(x, w) y = Mul(h, x_scale) }""",
        {"w": w(1, 8, 8)},
    ),
    "graph outputs are called as codes and pairs of another tensor": lambda: model(
        """t (float[2, 8] x) => (float[2, 8] h_DequantizeLinear_Output, float[2, 8] h_QuantizeLinear_Output)
        { h = MatMul(x, w) h_DequantizeLinear_Output = Relu(h) h_QuantizeLinear_Output = Sigmoid(h) }""",
        {"w": w(1, 8, 8)},
    ),
    "constants are called as codes, scales and zero points": lambda: model(
        """t (float[2, 8] x) => (float[2, 8] y)
        { a = MatMul(x, w) b = Mul(a, w_scale) c = Add(b, w_zero_point) y = MatMul(c, w_quantized) }""",
        {"w": w(1, 8, 8), "w_scale": w(2, 8), "w_zero_point": w(3, 8), "w_quantized": w(4, 8, 8)},
    ),
    "the copy of a shared bias has a name in the graph": lambda: model(
        """t (float[1, 4, 6, 6] x) => (float[1, 4, 6, 6] y)
        { b_1 = Conv<pads = [1, 1, 1, 1]>(x, w1, b) b0 = Relu(b_1) y = Conv<pads = [1, 1, 1, 1]>(b0, w2, b) }""",
        {"w1": w(1, 4, 4, 3, 3), "w2": w(2, 4, 4, 3, 3), "b": w(3, 4)},
    ),
    "equal node names": lambda: model(
        f"t {MATRIX} {{ [n] a = MatMul(x, w1) [n] b = Relu(a) [n] y = MatMul(b, w2) }}",
        {"w1": w(1, 8, 8), "w2": w(2, 8, 8)},
    ),
    "a node is called as a tensor, and a tensor as a node to come": lambda: model(
        f"""t {MATRIX}
        {{ [x] x_QuantizeLinear = MatMul(x, w1) [y] b = Relu(x_QuantizeLinear)
           [b_QuantizeLinear] y = MatMul(b, w2) }}""",
        {"w1": w(1, 8, 8), "w2": w(2, 8, 8)},
    ),
    "a body has its own tensor of an outer name": lambda: model(
        """t (float[2, 8] x, bool c) => (float[2, 8] y)
        { h = MatMul(x, w) z = If(c) <
            then_branch = a () => (float[2, 8] o) { h_scale = Relu(h) o = Mul(h_scale, h) },
            else_branch = b () => (float[2, 8] p) { p = Neg(h) }>
          y = Add(z, x) }""",
        {"w": w(1, 8, 8)},
    ),
}

# ---------------------------------------------------------------------- channels

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

# ---------------------------------------------------------------------- numbers of weights and biases

NUMBERS: dict[str, Builder] = {
    "tiny weights and a large bias": lambda: model(
        "t (float[1, 2, 4, 4] x) => (float[1, 2, 4, 4] y) { y = Conv(x, w, b) }",
        {"w": w(1, 2, 2, 1, 1, scale=1e-8), "b": [5.0, -4.5]},
    ),
    "one channel of zeros": lambda: model(
        "t (float[1, 3, 4, 4] x) => (float[1, 2, 4, 4] y) { y = Conv(x, w, b) }",
        {"w": np.stack([w(1, 3, 1, 1), np.zeros((3, 1, 1), np.float32)]), "b": [0.0, 1.0]},
    ),
    "weights of zeros": lambda: model(
        "t (float[1, 3, 4, 4] x) => (float[1, 2, 4, 4] y) { y = Conv(x, w, b) }",
        {"w": np.zeros((2, 3, 1, 1)), "b": [0.5, 1.0]},
    ),
    "bias of zeros": lambda: model(
        "t (float[1, 3, 4, 4] x) => (float[1, 2, 4, 4] y) { y = Conv(x, w, b) }",
        {"w": w(1, 2, 3, 1, 1), "b": np.zeros(2)},
    ),
    "weights of one sign": lambda: model(
        "t (float[1, 3, 4, 4] x) => (float[1, 2, 4, 4] y) { y = Conv(x, w, b) }",
        {"w": np.abs(w(1, 2, 3, 1, 1)) + 1, "b": [0.5, 1.0]},
    ),
    "large weights": lambda: model(
        "t (float[1, 3, 4, 4] x) => (float[1, 2, 4, 4] y) { h = Conv(x, w, b) y = Mul(h, s) }",
        {"w": w(1, 2, 3, 1, 1, scale=1e6), "b": w(2, 2, scale=1e6), "s": 1e-6},
    ),
    "an activation that is zero everywhere": lambda: model(
        """t (float[1, 3, 4, 4] x) => (float[1, 2, 4, 4] y)
        { z = Mul(x, zero) r = Relu(z) h = Conv(r, w, b) g = Conv(x, w, b) y = Add(h, g) }""",
        {"w": w(1, 2, 3, 1, 1), "b": [0.5, 1.0], "zero": 0.0},
    ),
    "an activation that is constant": lambda: model(
        """t (float[1, 3, 4, 4] x) => (float[1, 2, 4, 4] y)
        { z = Mul(x, zero) a = Add(z, three) h = Conv(a, w, b) y = Relu(h) }""",
        {"w": np.abs(w(1, 2, 3, 1, 1)), "b": [0.5, 1.0], "zero": 0.0, "three": 3.0},
    ),
}

# ---------------------------------------------------------------------- activations that may go

ACTIVATIONS: dict[str, Builder] = {
    "Relu behind a conv": lambda: model(
        f"t {IMAGE} {{ h = Conv<pads = [1, 1, 1, 1]>(x, w, b) y = Relu(h) }}", {"w": w(1, 4, 3, 3, 3), "b": w(2, 4)}
    ),
    "a conv with two readers, one of them a Relu": lambda: model(
        f"""t {IMAGE}
        {{ h = Conv<pads = [1, 1, 1, 1]>(x, w) r = Relu(h) g = Conv<pads = [1, 1, 1, 1]>(h, v) y = Add(r, g) }}""",
        {"w": w(1, 4, 3, 3, 3), "v": w(2, 4, 4, 3, 3)},
    ),
    "Relu whose input is a graph output": lambda: model(
        """t (float[1, 3, 6, 6] x) => (float[1, 4, 6, 6] h, float[1, 4, 6, 6] y)
        { h = Conv<pads = [1, 1, 1, 1]>(x, w) y = Relu(h) }""",
        {"w": w(1, 4, 3, 3, 3)},
    ),
    "Relu that is a graph output and is read": lambda: model(
        """t (float[1, 3, 6, 6] x) => (float[1, 4, 6, 6] r, float[1, 4, 1, 1] y)
        { h = Conv<pads = [1, 1, 1, 1]>(x, w) r = Relu(h) y = GlobalAveragePool(r) }""",
        {"w": w(1, 4, 3, 3, 3)},
    ),
    "Relu on a graph input": lambda: model(
        f"t {IMAGE} {{ r = Relu(x) y = Conv<pads = [1, 1, 1, 1]>(r, w) }}", {"w": w(1, 4, 3, 3, 3)}
    ),
    "Relu of Relu": lambda: model(
        f"t {IMAGE} {{ h = Conv<pads = [1, 1, 1, 1]>(x, w) r = Relu(h) y = Relu(r) }}", {"w": w(1, 4, 3, 3, 3)}
    ),
    "Clip to [2, 3]": lambda: model(
        f"t {IMAGE} {{ h = Conv<pads = [1, 1, 1, 1]>(x, w) y = Clip(h, lo, hi) }}",
        {"w": w(1, 4, 3, 3, 3), "lo": 2.0, "hi": 3.0},
    ),
    "Clip to [-2, -1]": lambda: model(
        f"t {IMAGE} {{ h = Conv<pads = [1, 1, 1, 1]>(x, w) y = Clip(h, lo, hi) }}",
        {"w": w(1, 4, 3, 3, 3), "lo": -2.0, "hi": -1.0},
    ),
    "Clip to [0, 6]": lambda: model(
        f"t {IMAGE} {{ h = Conv<pads = [1, 1, 1, 1]>(x, w) y = Clip(h, lo, hi) }}",
        {"w": w(1, 4, 3, 3, 3, scale=2), "lo": 0.0, "hi": 6.0},
    ),
    "Clip to [-1, 1]": lambda: model(
        f"t {IMAGE} {{ h = Conv<pads = [1, 1, 1, 1]>(x, w) y = Clip(h, lo, hi) }}",
        {"w": w(1, 4, 3, 3, 3), "lo": -1.0, "hi": 1.0},
    ),
    "Clip without min": lambda: model(
        f"t {IMAGE} {{ h = Conv<pads = [1, 1, 1, 1]>(x, w) y = Clip(h, , hi) }}", {"w": w(1, 4, 3, 3, 3), "hi": 0.4}
    ),
    "Clip without max": lambda: model(
        f"t {IMAGE} {{ h = Conv<pads = [1, 1, 1, 1]>(x, w) y = Clip(h, lo) }}", {"w": w(1, 4, 3, 3, 3), "lo": -0.3}
    ),
    "Clip without limits": lambda: model(
        f"t {IMAGE} {{ h = Conv<pads = [1, 1, 1, 1]>(x, w) y = Clip(h) }}", {"w": w(1, 4, 3, 3, 3)}
    ),
    "Clip with limits from Constant nodes": lambda: model(
        f"""t {IMAGE} {{ lo = Constant<value_float = 0.0>() hi = Constant<value = float {{6.0}}>()
        h = Conv<pads = [1, 1, 1, 1]>(x, w) y = Clip(h, lo, hi) }}""",
        {"w": w(1, 4, 3, 3, 3, scale=2)},
    ),
    "Clip with computed limits": lambda: model(
        """t (float[1, 3, 6, 6] x, float hi) => (float[1, 4, 6, 6] y)
        { h = Conv<pads = [1, 1, 1, 1]>(x, w) a = Abs(hi) y = Clip(h, lo, a) }""",
        {"w": w(1, 4, 3, 3, 3), "lo": 0.0},
    ),
    "Clip between its limits in opset 10": lambda: model(
        f"t {IMAGE} {{ h = Conv<pads = [1, 1, 1, 1]>(x, w) y = Clip<min = 0.0, max = 6.0>(h) }}",
        {"w": w(1, 4, 3, 3, 3, scale=2)},
        opset=10,
    ),
    "LeakyRelu and PRelu": lambda: model(
        f"""t {IMAGE}
        {{ h = Conv<pads = [1, 1, 1, 1]>(x, w) r = LeakyRelu<alpha = 0.1>(h) g = Conv<pads = [1, 1, 1, 1]>(r, v)
           y = PRelu(g, s) }}""",
        {"w": w(1, 4, 3, 3, 3), "v": w(2, 4, 4, 3, 3), "s": np.abs(w(3, 4, 1, 1))},
    ),
    "Relu into a Concat and a residual": lambda: model(
        """t (float[1, 3, 6, 6] x) => (float[1, 8, 6, 6] y)
        { h = Conv<pads = [1, 1, 1, 1]>(x, w) r = Relu(h) g = Conv<pads = [1, 1, 1, 1]>(r, v) a = Add(g, r)
          q = Relu(a) y = Concat<axis = 1>(q, r) }""",
        {"w": w(1, 4, 3, 3, 3), "v": w(2, 4, 4, 3, 3)},
    ),
}

# ---------------------------------------------------------------------- graph inputs and outputs

ENDS: dict[str, Builder] = {
    "an input that is an output": lambda: model(
        """t (float[1, 3, 6, 6] x) => (float[1, 4, 6, 6] y, float[1, 3, 6, 6] x)
        { y = Conv<pads = [1, 1, 1, 1]>(x, w) }""",
        {"w": w(1, 4, 3, 3, 3)},
    ),
    "an output twice read": lambda: model(
        """t (float[1, 3, 6, 6] x) => (float[1, 4, 6, 6] h, float[1, 4, 6, 6] r, float[1, 4, 1, 1] y)
        { h = Conv<pads = [1, 1, 1, 1]>(x, w) r = Relu(h) y = GlobalAveragePool(h) }""",
        {"w": w(1, 4, 3, 3, 3)},
    ),
    "a constant that is an output": lambda: model(
        """t (float[2, 8] x) => (float[2, 8] y, float[8, 8] w) { y = MatMul(x, w) }""", {"w": w(1, 8, 8)}
    ),
    "an Identity from input to output": lambda: model(
        "t (float[2, 8] x) => (float[2, 8] y, float[2, 8] z) { y = MatMul(x, w) z = Identity(x) }", {"w": w(1, 8, 8)}
    ),
    "an Identity between two outputs": lambda: model(
        "t (float[2, 8] x) => (float[2, 8] y, float[2, 8] z) { y = MatMul(x, w) z = Identity(y) }", {"w": w(1, 8, 8)}
    ),
    "an input that nobody reads": lambda: model(
        "t (float[2, 8] x, float[3] u) => (float[2, 8] y) { y = MatMul(x, w) }", {"w": w(1, 8, 8)}
    ),
    "a node that nobody reads": lambda: model(
        "t (float[2, 8] x) => (float[2, 8] y) { y = MatMul(x, w) d = Relu(y) e = MatMul(d, w) }", {"w": w(1, 8, 8)}
    ),
    "a tensor squared": lambda: model(
        "t (float[1, 3, 6, 6] x) => (float[1, 3, 6, 6] y) { h = Conv<pads = [1, 1, 1, 1]>(x, w) s = Mul(h, h) "
        "y = Add(s, h) }",
        {"w": w(1, 3, 3, 3, 3)},
    ),
    "nothing to quantize": lambda: model("t (float[1, 4] x) => (float[1, 4] y) { y = Exp(x) }"),
    "a reshape alone": lambda: model("t (float[2, 4] x) => (float[8] y) { y = Reshape(x, s) }", {"s": np.array([8])}),
}

# ---------------------------------------------------------------------- bodies of If, Loop, Scan

BODIES: dict[str, Builder] = {
    "branches capture a tensor that Relu reads": lambda: model(
        """t (float[1, 3, 6, 6] x, bool c) => (float[1, 4, 1, 1] y, float[1, 4, 6, 6] z)
        { h = Conv<pads = [1, 1, 1, 1]>(x, w) r = Relu(h) z = If(c) <
            then_branch = a () => (float[1, 4, 6, 6] o) { o = Identity(h) },
            else_branch = b () => (float[1, 4, 6, 6] p) { p = Neg(h) }>
          y = GlobalAveragePool(r) }""",
        {"w": w(1, 4, 3, 3, 3)},
    ),
    "branches capture a weight": lambda: model(
        """t (float[1, 3, 6, 6] x, bool c) => (float[1, 4, 6, 6] y, float[4, 3, 3, 3] z)
        { y = Conv<pads = [1, 1, 1, 1]>(x, w) z = If(c) <
            then_branch = a () => (float[4, 3, 3, 3] o) { o = Identity(w) },
            else_branch = b () => (float[4, 3, 3, 3] p) { p = Neg(w) }> }""",
        {"w": w(1, 4, 3, 3, 3)},
    ),
    "a branch inside a branch captures": lambda: model(
        """t (float[2, 8] x, bool c) => (float[2, 8] y)
        { h = MatMul(x, w) r = Relu(h) z = If(c) <
            then_branch = a () => (float[2, 8] o) { o = If(c) <
                then_branch = aa () => (float[2, 8] q) { q = Add(h, r) },
                else_branch = ab () => (float[2, 8] s) { s = Sub(h, r) }> },
            else_branch = b () => (float[2, 8] p) { p = Neg(r) }>
          y = MatMul(z, w) }""",
        {"w": w(1, 8, 8)},
    ),
    "a loop captures a bias and an activation": lambda: model(
        """t (float[2, 8] x) => (float[2, 8] y)
        { h = Gemm(x, w, b) r = Relu(h) y = Loop(n, yes, r) <
            body = l (int64 i, bool k, float[2, 8] s) => (bool k2, float[2, 8] s2)
            { k2 = Identity(k) t = Add(s, b) s2 = Mul(t, half) }> }""",
        {"w": w(1, 8, 8), "b": w(2, 8), "n": np.array(2), "yes": np.array(True), "half": 0.5},
    ),
}

# ---------------------------------------------------------------------- constants that are no initializers

CONSTANTS: dict[str, Builder] = {
    "Constant nodes": lambda: model(
        f"""t {IMAGE} {{ w = Constant<value = float[4, 3, 1, 1] {{{", ".join(map(str, w(1, 12)))}}}>()
        b = Constant<value_floats = [0.1, -0.2, 0.3, 0.4]>() y = Conv(x, w, b) }}"""
    ),
    "Identity": lambda: model(
        f"t {IMAGE} {{ w = Identity(w0) b1 = Identity(b0) b = Identity(b1) y = Conv<pads = [1, 1, 1, 1]>(x, w, b) }}",
        {"w0": w(1, 4, 3, 3, 3), "b0": w(2, 4)},
    ),
    "Transpose": lambda: model(
        f"t {IMAGE} {{ w = Transpose<perm = [3, 2, 0, 1]>(w0) y = Conv<pads = [1, 1, 1, 1]>(x, w) }}",
        {"w0": w(1, 3, 3, 3, 4)},
    ),
    "Reshape": lambda: model(
        f"t {IMAGE} {{ w = Reshape(w0, s) b = Squeeze(b0, a) y = Conv<pads = [1, 1, 1, 1]>(x, w, b) }}",
        {"w0": w(1, 108), "s": np.array([4, 3, 3, 3]), "b0": w(2, 1, 4), "a": np.array([0])},
    ),
    "Cast from half": lambda: model(
        f"t {IMAGE} {{ w = Cast<to = 1>(w0) b = Cast<to = 1>(b0) y = Conv<pads = [1, 1, 1, 1]>(x, w, b) }}",
        {"w0": w(1, 4, 3, 3, 3).astype(np.float16), "b0": w(2, 4).astype(np.float16)},
    ),
    "DequantizeLinear by the exporter": lambda: model(
        f"t {IMAGE} {{ w = DequantizeLinear(w0, s, z) y = Conv<pads = [1, 1, 1, 1]>(x, w, b) }}",
        {
            "w0": (w(1, 4, 3, 3, 3) * 100).astype(np.int8),
            "s": np.float32(0.01),
            "z": np.int8(0),
            "b": w(2, 4),
        },
    ),
    "DequantizeLinear per channel, then Transpose": lambda: model(
        "t (float[2, 8] x) => (float[2, 6] y) { d = DequantizeLinear<axis = 0>(w0, s, z) w = Transpose(d) "
        "y = MatMul(x, w) }",
        {"w0": (w(1, 6, 8) * 100).astype(np.int8), "s": np.full(6, 0.01), "z": np.zeros(6, np.int8)},
    ),
    "one quantized weight read by MatMul and Transpose": lambda: model(
        "t (float[2, 4] x) => (float[2, 4] y) { d = DequantizeLinear(w0, s, z) h = MatMul(x, d) w = Transpose(d) "
        "y = MatMul(h, w) }",
        {"w0": (w(1, 4, 6) * 100).astype(np.int8), "s": np.float32(0.01), "z": np.int8(0)},
    ),
    "arithmetic": lambda: model(
        f"""t {IMAGE} {{ m = Mul(w0, g) w = Sub(m, o) c = Add(b0, b0) n = Neg(c) b = Div(n, two)
        y = Conv<pads = [1, 1, 1, 1]>(x, w, b) }}""",
        {"w0": w(1, 4, 3, 3, 3), "g": np.abs(w(2, 4, 1, 1, 1)), "o": 0.1, "b0": w(3, 4), "two": 2.0},
    ),
    "weight normalization": lambda: model(
        f"""t {IMAGE} {{ n = ReduceL2<axes = [1, 2, 3], keepdims = 1>(v) d = Div(v, n) w = Mul(d, g)
        y = Conv<pads = [1, 1, 1, 1]>(x, w) }}""",
        {"v": w(1, 4, 3, 3, 3), "g": np.abs(w(2, 4, 1, 1, 1)) + 0.5},
    ),
    "ConstantOfShape": lambda: model(
        f"t {IMAGE} {{ b = ConstantOfShape<value = float[1] {{0.5}}>(s) y = Conv<pads = [1, 1, 1, 1]>(x, w, b) }}",
        {"w": w(1, 4, 3, 3, 3), "s": np.array([4])},
    ),
    "Concat of two halves": lambda: model(
        f"t {IMAGE} {{ w = Concat<axis = 0>(w1, w2) y = Conv<pads = [1, 1, 1, 1]>(x, w) }}",
        {"w1": w(1, 2, 3, 3, 3), "w2": w(2, 2, 3, 3, 3)},
    ),
    "initializers listed as inputs": lambda: model(
        """<ir_version: 3, opset_import: ["" : 13]>
        t (float[1, 3, 6, 6] x, float[4, 3, 3, 3] w, float[4] b) => (float[1, 4, 4, 4] y) { y = Conv(x, w, b) }""",
        {"w": w(1, 4, 3, 3, 3), "b": w(2, 4)},
    ),
    "local function": lambda: model(
        f"""<ir_version: 8, opset_import: ["" : 17, "own" : 1]> t {IMAGE} {{ y = own.block(x, w, b) }}
        <domain: "own", opset_import: ["" : 17]> block (a, k, c) => (r)
        {{ h = Conv<pads = [1, 1, 1, 1]>(a, k, c) r = Relu(h) }}""",
        {"w": w(1, 4, 3, 3, 3), "b": w(2, 4)},
    ),
    "functions that call functions": lambda: model(
        """<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
        t (float[2, 8] x) => (float[2, 8] y) { h = own.outer(x, w) y = own.outer(h, w) }
        <domain: "own", opset_import: ["" : 17, "own" : 1]> outer (a, k) => (r) { s = own.inner(a, k) r = Relu(s) }
        <domain: "own", opset_import: ["" : 17]> inner (a, k) => (r) { r = MatMul(a, k) }""",
        {"w": w(1, 8, 8)},
    ),
}

if tuple(map(int, onnxruntime.__version__.split(".")[:2])) < (1, 24):
    # Its transpose optimizer ends the process over this float model, whoever loads it.
    del CONSTANTS["DequantizeLinear per channel, then Transpose"]

# ---------------------------------------------------------------------- opsets

OPSETS: dict[str, Builder] = {
    "7: BatchNormalization, Upsample by attributes": lambda: model(
        """t (float[1, 3, 4, 4] x) => (float[1, 4, 8, 8] y)
        { h = Conv<pads = [1, 1, 1, 1]>(x, w) n = BatchNormalization(h, g, b, m, v)
          y = Upsample<mode = "nearest", scales = [1.0, 1.0, 2.0, 2.0]>(n) }""",
        {"w": w(1, 4, 3, 3, 3), "g": np.ones(4), "b": w(2, 4), "m": w(3, 4), "v": np.abs(w(4, 4)) + 0.5},
        opset=7,
        ir_version=3,
    ),
    "8: attributes that became inputs": lambda: model(
        """t (float[1, 3, 6, 6] x) => (float[1, 4] y)
        { p = Pad<pads = [0, 0, 1, 1, 0, 0, 1, 1], value = 0.0>(x) h = Conv(p, w) c = Clip<min = 0.0, max = 6.0>(h)
          r = ReduceMean<axes = [2, 3], keepdims = 1>(c) y = Squeeze<axes = [2, 3]>(r) }""",
        {"w": w(1, 4, 3, 3, 3)},
        opset=8,
        ir_version=4,
    ),
    "9: Upsample": lambda: model(
        """t (float[1, 3, 4, 4] x) => (float[1, 2, 8, 8] y)
        { h = Conv<pads = [1, 1, 1, 1]>(x, w) u = Upsample<mode = "nearest">(h, s) y = Conv(u, v) }""",
        {"w": w(1, 4, 3, 3, 3), "v": w(2, 2, 4, 1, 1), "s": [1.0, 1.0, 2.0, 2.0]},
        opset=9,
        ir_version=4,
    ),
    "10: Slice, TopK, Resize": lambda: model(
        """t (float[1, 3, 4, 4] x) => (float[1, 2, 8, 8] y)
        { h = Conv<pads = [1, 1, 1, 1]>(x, w) s = Slice(h, b, e, a) y = Resize<mode = "nearest">(s, f) }""",
        {
            "w": w(1, 4, 3, 3, 3),
            "b": np.array([0]),
            "e": np.array([2]),
            "a": np.array([1]),
            "f": [1.0, 1.0, 2.0, 2.0],
        },
        opset=10,
    ),
    "11: Softmax flattens": lambda: model(
        "t (float[2, 3, 4] x) => (float[2, 3, 5] y) { h = MatMul(x, w) y = Softmax<axis = 1>(h) }",
        {"w": w(1, 4, 5, scale=3)},
        opset=11,
        ir_version=6,
    ),
    "11: Softmax of the default axis": lambda: model(
        "t (float[2, 3, 4] x) => (float[2, 3, 5] y) { h = MatMul(x, w) y = Softmax(h) }",
        {"w": w(1, 4, 5, scale=3)},
        opset=11,
        ir_version=6,
    ),
    "12: Squeeze, Unsqueeze, ReduceSum by attributes": lambda: model(
        """t (float[1, 3, 6, 6] x) => (float[1, 1, 4] y)
        { h = Conv(x, w, b) r = ReduceSum<axes = [2, 3], keepdims = 0>(h) u = Unsqueeze<axes = [0]>(r) y = Relu(u) }""",
        {"w": w(1, 4, 3, 3, 3), "b": w(2, 4)},
        opset=12,
    ),
    "18: axes as inputs, Split with num_outputs": lambda: model(
        """t (float[1, 3, 6, 6] x) => (float[1, 2, 1, 1] y)
        { h = Conv(x, w, b) r = ReduceMean<keepdims = 1>(h, a) p, q = Split<axis = 1, num_outputs = 2>(r)
          y = Mul(p, q) }""",
        {"w": w(1, 4, 3, 3, 3), "b": w(2, 4), "a": np.array([2, 3])},
        opset=18,
    ),
    "20: Gelu": lambda: model(
        "t (float[2, 8] x) => (float[2, 8] y) { h = Gemm(x, w, b) g = Gelu(h) y = MatMul(g, v) }",
        {"w": w(1, 8, 8), "b": w(2, 8), "v": w(3, 8, 8)},
        opset=20,
    ),
    "21: everything": lambda: model(
        "t (float[1, 3, 6, 6] x) => (float[1, 4, 2, 2] y) { h = Conv(x, w, b) r = Relu(h) "
        "y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(r) }",
        {"w": w(1, 4, 3, 3, 3), "b": w(2, 4)},
        opset=21,
        ir_version=10,
    ),
}

# ---------------------------------------------------------------------- operators


def _resize_by_sizes() -> ModelProto:
    return model(
        """t (float[1, 3, 4, 4] x) => (float[1, 4, 7, 7] y)
        { h = Conv<pads = [1, 1, 1, 1]>(x, w) y = Resize<mode = "linear">(h, , , s) }""",
        {"w": w(1, 4, 3, 3, 3), "s": np.array([1, 4, 7, 7])},
    )


OPERATORS: dict[str, Builder] = {
    "BatchNormalization on a graph input": lambda: model(
        "t (float[1, 4, 6, 6] x) => (float[1, 4, 6, 6] y) { n = BatchNormalization(x, g, b, m, v) y = Relu(n) }",
        {"g": np.abs(w(5, 4)) + 0.5, "b": w(2, 4), "m": w(3, 4), "v": np.abs(w(4, 4)) + 0.5},
    ),
    "BatchNormalization behind Conv, ConvTranspose, Gemm, MatMul, Concat, Relu": lambda: model(
        """t (float[1, 4, 3, 3] x) => (float[1, 4] y)
        { a = Conv<pads = [1, 1, 1, 1]>(x, w1) n1 = BatchNormalization(a, g, b, m, v) r = Relu(n1)
          n2 = BatchNormalization(r, g, b, m, v) c = ConvTranspose(n2, w2) n3 = BatchNormalization(c, g, b, m, v)
          p = GlobalAveragePool(n3) f = Flatten(p) d = Gemm(f, w3) n4 = BatchNormalization(d, g, b, m, v)
          e = MatMul(n4, w3) y = BatchNormalization(e, g, b, m, v) }""",
        {
            "w1": w(1, 4, 4, 3, 3),
            "w2": w(6, 4, 4, 2, 2),
            "w3": w(7, 4, 4),
            "g": np.abs(w(5, 4)) + 0.5,
            "b": w(2, 4),
            "m": w(3, 4),
            "v": np.abs(w(4, 4)) + 0.5,
        },
    ),
    "pools": lambda: model(
        """t (float[1, 3, 8, 8] x) => (float[1, 12, 4, 4] y)
        { h = Conv<pads = [1, 1, 1, 1]>(x, w) a = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(h)
          b = AveragePool<kernel_shape = [2, 2], strides = [2, 2]>(h)
          c = AveragePool<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]>(h) y = Concat<axis = 1>(a, b, c)
        }""",
        {"w": w(1, 4, 3, 3, 3)},
    ),
    "MaxPool with indices": lambda: model(
        """t (float[1, 3, 8, 8] x) => (float[1, 4, 4, 4] y, int64[1, 4, 4, 4] i)
        { h = Conv<pads = [1, 1, 1, 1]>(x, w) y, i = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(h) }""",
        {"w": w(1, 4, 3, 3, 3)},
    ),
    "Concat of one tensor": lambda: model(
        """t (float[1, 3, 6, 6] x) => (float[1, 2, 6, 6] y)
        { h = Conv<pads = [1, 1, 1, 1]>(x, w) c = Concat<axis = 1>(h) y = Conv(c, v) }""",
        {"w": w(1, 4, 3, 3, 3), "v": w(2, 2, 4, 1, 1)},
    ),
    "Concat of one tensor twice and a constant": lambda: model(
        """t (float[1, 3, 4, 4] x) => (float[1, 9, 4, 4] y)
        { h = Conv<pads = [1, 1, 1, 1]>(x, w) y = Concat<axis = 1>(h, h, k) }""",
        {"w": w(1, 4, 3, 3, 3), "k": w(2, 1, 1, 4, 4)},
    ),
    "Concat of tensors of far ranges": lambda: model(
        """t (float[1, 3, 6, 6] x) => (float[1, 2, 6, 6] y)
        { a = Conv<pads = [1, 1, 1, 1]>(x, w1) b = Conv<pads = [1, 1, 1, 1]>(x, w2) c = Concat<axis = 1>(a, b)
          y = Conv(c, w3) }""",
        {
            "w1": w(1, 2, 3, 3, 3, scale=0.2),
            "w2": w(2, 2, 3, 3, 3, scale=1.0),
            "w3": w(3, 2, 4, 1, 1),
        },
    ),
    "Split by sizes": lambda: model(
        """t (float[1, 3, 6, 6] x) => (float[1, 1, 6, 6] y, float[1, 3, 6, 6] z)
        { h = Conv<pads = [1, 1, 1, 1]>(x, w) p, q = Split<axis = 1>(h, s) y = Relu(p) z = Sigmoid(q) }""",
        {"w": w(1, 4, 3, 3, 3), "s": np.array([1, 3])},
    ),
    "Resize with empty inputs": lambda: model(
        """t (float[1, 3, 4, 4] x) => (float[1, 4, 8, 8] y)
        { h = Conv<pads = [1, 1, 1, 1]>(x, w) y = Resize<mode = "nearest">(h, , f) }""",
        {"w": w(1, 4, 3, 3, 3), "f": [1.0, 1.0, 2.0, 2.0]},
    ),
    "Resize by sizes": _resize_by_sizes,
    "LayerNormalization without bias, Clip, Dropout": lambda: model(
        """t (float[2, 8] x) => (float[2, 3] y)
        { h = MatMul(x, w) l = LayerNormalization<axis = -1>(h, g) c = Clip(l, , hi) d = Dropout(c)
          y = MatMul(d, v) }""",
        {"w": w(1, 8, 6), "g": np.abs(w(2, 6)) + 0.5, "hi": 0.8, "v": w(3, 6, 3)},
    ),
    "LSTM": lambda: model(
        """t (float[3, 1, 4] x) => (float[3, 1, 1, 5] y) { h = Tanh(x) y = LSTM<hidden_size = 5>(h, w, r, b) }""",
        {"w": w(1, 1, 20, 4), "r": w(2, 1, 20, 5), "b": w(3, 1, 40)},
    ),
    "Where, Gather, Expand, Tile": lambda: model(
        """t (float[2, 8] x) => (float[4, 8] y)
        { h = MatMul(x, w) g = Greater(h, z) s = Where(g, h, k) e = Expand(s, es) t = Tile(e, ts)
          y = Gather(t, i) }""",
        {
            "w": w(1, 8, 8),
            "z": 0.0,
            "k": 0.1,
            "es": np.array([2, 8]),
            "ts": np.array([2, 1]),
            "i": np.array([3, 1, 0, 2]),
        },
    ),
    "shape arithmetic": lambda: model(
        """t (float[n, 2, 3] x) => (float[n, 4] y)
        { s = Shape(x) d = Gather(s, i) u = Unsqueeze(d, a) c = Concat<axis = 0>(u, m) r = Reshape(x, c)
          y = MatMul(r, w) }""",
        {"w": w(1, 6, 4), "i": np.array(0), "a": np.array([0]), "m": np.array([-1])},
    ),
    "Einsum and ArgMax": lambda: model(
        """t (float[2, 8] x) => (int64[2] y, float[2, 6] z)
        { z = Einsum<equation = "ij,jk->ik">(x, w) y = ArgMax<axis = 1, keepdims = 0>(z) }""",
        {"w": w(1, 8, 6)},
    ),
    "Softmax between MatMuls": lambda: model(
        """t (float[1, 4, 8] x) => (float[1, 4, 8] y)
        { q = MatMul(x, w) k = Transpose<perm = [0, 2, 1]>(x) s = MatMul(q, k) p = Softmax<axis = -1>(s)
          y = MatMul(p, x) }""",
        {"w": w(1, 8, 8)},
    ),
    "sigmoids": lambda: model(
        """t (float[1, 3, 6, 6] x) => (float[1, 4, 6, 6] y)
        { h = Conv<pads = [1, 1, 1, 1]>(x, w) s = Sigmoid(h) m = Mul(h, s) g = Conv<pads = [1, 1, 1, 1]>(m, v)
          q = HardSigmoid<alpha = 0.16666667, beta = 0.5>(g) y = Mul(g, q) }""",
        {"w": w(1, 4, 3, 3, 3), "v": w(2, 4, 4, 3, 3)},
    ),
    "InstanceNormalization": lambda: model(
        "t (float[1, 3, 6, 6] x) => (float[1, 4, 6, 6] y) "
        "{ h = Conv<pads = [1, 1, 1, 1]>(x, w) y = InstanceNormalization(h, g, b) }",
        {"w": w(1, 4, 3, 3, 3), "g": np.abs(w(2, 4)) + 0.5, "b": w(3, 4)},
    ),
    "Relu and Sigmoid of scalars": lambda: model(
        "t (float x) => (float y) { r = Relu(x) a = Add(r, k) y = Sigmoid(a) }", {"k": 0.3}
    ),
}

# ---------------------------------------------------------------------- types

TYPES: dict[str, Builder] = {
    "sequence": lambda: model(
        """t (float[2, 4] x) => (float[2, 3] y)
        { h = MatMul(x, w) s = SequenceConstruct(h, x) e = SequenceAt(s, i) y = MatMul(e, v) }""",
        {"w": w(1, 4, 4), "v": w(2, 4, 3), "i": np.array(0)},
    ),
    "contrib op": lambda: model(
        """t (float[1, 3, 6, 6] x) => (float[1, 2, 4, 4] y)
        { h = Conv(x, w, b) g = com.microsoft.FastGelu(h) y = Conv(g, v, c) }""",
        {"w": w(1, 4, 3, 3, 3), "b": w(2, 4), "v": w(3, 2, 4, 1, 1), "c": w(4, 2)},
    ),
    "integer input": lambda: model(
        """t (int64[n] ids, bool[n, 1] keep) => (float[n, 3] y)
        { e = Gather(table, ids) k = Where(keep, e, zero) y = MatMul(k, w) }""",
        {"table": w(1, 4, 6), "zero": 0.0, "w": w(2, 6, 3)},
    ),
    "uint8 image normalized inside": lambda: model(
        """t (uint8[1, 3, 6, 6] x) => (float[1, 4, 4, 4] y)
        { f = Cast<to = 1>(x) d = Div(f, s) m = Sub(d, k) h = Conv(m, w, b) y = Relu(h) }""",
        {"s": 2.0, "k": w(5, 1, 3, 1, 1), "w": w(1, 4, 3, 3, 3), "b": w(2, 4)},
    ),
    "double island": lambda: model(
        """t (float[2, 8] x) => (float[2, 8] y)
        { h = MatMul(x, w) d = Cast<to = 11>(h) e = Exp(d) f = Cast<to = 1>(e) y = MatMul(f, w) }""",
        {"w": w(1, 8, 8, scale=0.2)},
    ),
    "half precision": lambda: model(
        """t (float16[1, 3, 6, 6] x) => (float16[1, 4, 4, 4] y) { h = Conv(x, w, b) y = Relu(h) }""",
        {"w": w(1, 4, 3, 3, 3).astype(np.float16), "b": w(2, 4).astype(np.float16)},
    ),
    "half precision of opset 19 with Softmax": lambda: model(
        """t (float16[2, 8] x) => (float16[2, 8] y) { h = MatMul(x, w) p = Softmax<axis = -1>(h) y = Mul(p, k) }""",
        {"w": w(1, 8, 8).astype(np.float16), "k": np.float16(3)},
        opset=19,
        ir_version=9,
    ),
    "unknown shapes": lambda: model(
        """t (float[a, b] x) => (float[c, d] y)
        { n = NonZero(x) f = Cast<to = 1>(n) h = MatMul(w, f) y = Relu(h) }""",
        {"w": w(1, 3, 2)},
    ),
}

# ---------------------------------------------------------------------- masks and fills


def _mask(fill: float) -> ModelProto:
    mask = np.where(np.triu(np.ones((4, 4)), 1) > 0, fill, 0).astype(np.float32)
    return model(
        f"""t {TOKENS}
        {{ q = MatMul(x, wq) t = Transpose<perm = [0, 2, 1]>(x) s = MatMul(q, t) m = Add(s, mask)
           p = Softmax<axis = -1>(m) y = MatMul(p, x) }}""",
        {"wq": w(1, 8, 8), "mask": mask},
    )


def _where(fill: float) -> ModelProto:
    return model(
        f"""t {TOKENS}
        {{ q = MatMul(x, wq) t = Transpose<perm = [0, 2, 1]>(x) s = MatMul(q, t) m = Where(keep, s, fill)
           p = Softmax<axis = -1>(m) y = MatMul(p, x) }}""",
        {"wq": w(1, 8, 8), "keep": np.tril(np.ones((4, 4), bool)), "fill": fill},
    )


def _computed_mask(fill: float) -> ModelProto:
    """(1 - mask) * fill from a mask of ones and zeros, as BERT does it."""
    return model(
        """t (float[1, 4, 8] x, int64[1, 4] keep) => (float[1, 4, 8] y)
        { f = Cast<to = 1>(keep) u = Unsqueeze(f, one) i = Sub(unit, u) n = Mul(i, fill)
          q = MatMul(x, wq) t = Transpose<perm = [0, 2, 1]>(x) s = MatMul(q, t) d = Div(s, root) m = Add(d, n)
          p = Softmax<axis = -1>(m) y = MatMul(p, x) }""",
        {"wq": w(1, 8, 8), "fill": fill, "unit": 1.0, "one": np.array([1]), "root": 2.0},
    )


def _padded_pool(fill: float) -> ModelProto:
    return model(
        """t (float[1, 3, 8, 8] x) => (float[1, 4, 4, 4] y)
        { h = Conv<pads = [1, 1, 1, 1]>(x, w) p = Pad(h, pads, v)
          y = MaxPool<kernel_shape = [3, 3], strides = [2, 2]>(p) }""",
        {"w": w(1, 4, 3, 3, 3), "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1]), "v": np.float32(fill)},
    )


MASKS: dict[str, Builder] = {
    "causal mask of -inf": lambda: _mask(-np.inf),
    "causal mask of the lowest float": lambda: _mask(LOWEST),
    "causal mask of -1e4": lambda: _mask(-1e4),
    "causal mask of -65504": lambda: _mask(-65504.0),
    "causal mask of -1e9": lambda: _mask(-1e9),
    "Where with -inf": lambda: _where(-np.inf),
    "Where with the lowest float": lambda: _where(LOWEST),
    "Where with -1e4": lambda: _where(-1e4),
    "Where with -65504": lambda: _where(-65504.0),
    "computed mask of the lowest float": lambda: _computed_mask(LOWEST),
    "computed mask of -10000": lambda: _computed_mask(-10000.0),
    "mask, then the maximum with the lowest float": lambda: model(
        f"""t {TOKENS}
        {{ q = MatMul(x, wq) t = Transpose<perm = [0, 2, 1]>(x) s = MatMul(q, t) m = Add(s, mask) c = Max(m, low)
           p = Softmax<axis = -1>(c) y = MatMul(p, x) }}""",
        {
            "wq": w(1, 8, 8),
            "mask": np.where(np.triu(np.ones((4, 4)), 1) > 0, -np.inf, 0).astype(np.float32),
            "low": np.float32(LOWEST),
        },
    ),
    "mask of -inf on matrices": lambda: model(
        """t (float[4, 8] x) => (float[4, 8] y)
        { q = MatMul(x, wq) t = Transpose(x) s = MatMul(q, t) m = Add(s, mask) p = Softmax<axis = -1>(m)
          y = MatMul(p, x) }""",
        {"wq": w(1, 8, 8), "mask": np.where(np.triu(np.ones((4, 4)), 1) > 0, -np.inf, 0).astype(np.float32)},
    ),
    "mask of -1e4 on matrices": lambda: model(
        """t (float[4, 8] x) => (float[4, 8] y)
        { q = MatMul(x, wq) t = Transpose(x) s = MatMul(q, t) m = Add(s, mask) p = Softmax<axis = -1>(m)
          y = MatMul(p, x) }""",
        {"wq": w(1, 8, 8), "mask": np.where(np.triu(np.ones((4, 4)), 1) > 0, -1e4, 0).astype(np.float32)},
    ),
    "mask through Slice and Unsqueeze": lambda: model(
        f"""t {TOKENS}
        {{ q = MatMul(x, wq) t = Transpose<perm = [0, 2, 1]>(x) s = MatMul(q, t) a = Slice(mask, b, e)
           u = Unsqueeze(a, b) m = Add(s, u) p = Softmax<axis = -1>(m) y = MatMul(p, x) }}""",
        {
            "wq": w(1, 8, 8),
            "mask": np.where(np.triu(np.ones((6, 4)), 1) > 0, -1e4, 0).astype(np.float32),
            "b": np.array([0]),
            "e": np.array([4]),
        },
    ),
    "Pad with -inf before MaxPool": lambda: _padded_pool(-np.inf),
    "Pad with the lowest float before MaxPool": lambda: _padded_pool(LOWEST),
    "Pad with -1e4 before MaxPool": lambda: _padded_pool(-1e4),
    "Pad with -65504 before MaxPool": lambda: _padded_pool(-65504.0),
    "Pad without value before Conv": lambda: model(
        "t (float[1, 3, 4, 4] x) => (float[1, 4, 4, 4] y) { p = Pad(x, pads) y = Conv(p, w, b) }",
        {"w": w(1, 4, 3, 3, 3), "b": w(2, 4), "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1])},
    ),
    "Pad by reflection": lambda: model(
        """t (float[1, 3, 4, 4] x) => (float[1, 4, 4, 4] y) { p = Pad<mode = "reflect">(x, pads) y = Conv(p, w, b) }""",
        {"w": w(1, 4, 3, 3, 3), "b": w(2, 4), "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1])},
    ),
    "Log of zero, then Exp": lambda: model(
        "t (float[1, 16] x) => (float[1, 16] y) { r = Relu(x) l = Log(r) a = Add(l, k) y = Exp(a) }", {"k": 0.1}
    ),
}

CATALOGUE: dict[str, dict[str, Builder]] = {
    "shared": SHARED,
    "names": NAMES,
    "channels": CHANNELS,
    "numbers": NUMBERS,
    "activations": ACTIVATIONS,
    "ends": ENDS,
    "bodies": BODIES,
    "constants": CONSTANTS,
    "opsets": OPSETS,
    "operators": OPERATORS,
    "types": TYPES,
    "masks": MASKS,
}
GRAPHS: dict[str, Builder] = {
    f"{kind}: {name}": build for kind, listed in CATALOGUE.items() for name, build in listed.items()
}
