"""Constants that are no initializers."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import onnxruntime

from ..checks import model
from ..checks import weights as w
from .shapes import IMAGE, Builder

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
