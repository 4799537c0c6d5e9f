"""Activations that may vanish into what they follow, and those that may not."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np

from ..checks import model
from ..checks import weights as w
from .shapes import IMAGE, Builder

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
