"""Bodies of If, Loop and Scan that read what lies outside."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np

from ..checks import model
from ..checks import weights as w
from .shapes import Builder

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
