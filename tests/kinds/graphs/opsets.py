"""Operators that changed between opsets."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np

from ..checks import model
from ..checks import weights as w
from .shapes import Builder

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
