"""Constants that several nodes read, as data of different kinds."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np

from ..checks import model
from ..checks import weights as w
from .shapes import IMAGE, MATRIX, Builder

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
