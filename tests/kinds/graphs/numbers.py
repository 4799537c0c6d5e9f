"""Weights and biases of unusual numbers."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np

from ..checks import model
from ..checks import weights as w
from .shapes import Builder

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
