"""Tensors that are not float32, and mixtures."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np

from ..checks import model
from ..checks import weights as w
from .shapes import Builder

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
