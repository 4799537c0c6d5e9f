"""Masks and fills whose numbers no scale can hold beside the others."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
from onnx import ModelProto

from ..checks import model
from ..checks import weights as w
from .shapes import LOWEST, TOKENS, Builder


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
