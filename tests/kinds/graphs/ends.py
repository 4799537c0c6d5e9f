"""Graph inputs and outputs that are read, or made, in unusual places."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np

from ..checks import model
from ..checks import weights as w
from .shapes import Builder

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
