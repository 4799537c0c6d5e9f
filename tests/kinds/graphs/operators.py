"""Operators beyond those of plain networks."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
from onnx import ModelProto

from ..checks import model
from ..checks import weights as w
from .shapes import Builder


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
