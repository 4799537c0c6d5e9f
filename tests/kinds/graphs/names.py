"""Names that clash with those that quantization gives, and names that are none."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ..checks import model
from ..checks import weights as w
from .shapes import MATRIX, Builder

NAMES: dict[str, Builder] = {
    "a graph input is called as the scale of another": lambda: model(
        """t (float[2, 8] x, float[2, 8] x_scale) => (float[2, 8] y)
        { h = MatMul(x, w) y = Mul(h, x_scale) }""",
        {"w": w(1, 8, 8)},
    ),
    "graph outputs are called as codes and pairs of another tensor": lambda: model(
        """t (float[2, 8] x) => (float[2, 8] h_DequantizeLinear_Output, float[2, 8] h_QuantizeLinear_Output)
        { h = MatMul(x, w) h_DequantizeLinear_Output = Relu(h) h_QuantizeLinear_Output = Sigmoid(h) }""",
        {"w": w(1, 8, 8)},
    ),
    "constants are called as codes, scales and zero points": lambda: model(
        """t (float[2, 8] x) => (float[2, 8] y)
        { a = MatMul(x, w) b = Mul(a, w_scale) c = Add(b, w_zero_point) y = MatMul(c, w_quantized) }""",
        {"w": w(1, 8, 8), "w_scale": w(2, 8), "w_zero_point": w(3, 8), "w_quantized": w(4, 8, 8)},
    ),
    "the copy of a shared bias has a name in the graph": lambda: model(
        """t (float[1, 4, 6, 6] x) => (float[1, 4, 6, 6] y)
        { b_1 = Conv<pads = [1, 1, 1, 1]>(x, w1, b) b0 = Relu(b_1) y = Conv<pads = [1, 1, 1, 1]>(b0, w2, b) }""",
        {"w1": w(1, 4, 4, 3, 3), "w2": w(2, 4, 4, 3, 3), "b": w(3, 4)},
    ),
    "equal node names": lambda: model(
        f"t {MATRIX} {{ [n] a = MatMul(x, w1) [n] b = Relu(a) [n] y = MatMul(b, w2) }}",
        {"w1": w(1, 8, 8), "w2": w(2, 8, 8)},
    ),
    "a node is called as a tensor, and a tensor as a node to come": lambda: model(
        f"""t {MATRIX}
        {{ [x] x_QuantizeLinear = MatMul(x, w1) [y] b = Relu(x_QuantizeLinear)
           [b_QuantizeLinear] y = MatMul(b, w2) }}""",
        {"w1": w(1, 8, 8), "w2": w(2, 8, 8)},
    ),
    "a body has its own tensor of an outer name": lambda: model(
        """t (float[2, 8] x, bool c) => (float[2, 8] y)
        { h = MatMul(x, w) z = If(c) <
            then_branch = a () => (float[2, 8] o) { h_scale = Relu(h) o = Mul(h_scale, h) },
            else_branch = b () => (float[2, 8] p) { p = Neg(h) }>
          y = Add(z, x) }""",
        {"w": w(1, 8, 8)},
    ),
}
