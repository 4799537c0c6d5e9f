"""Networks and readers for observers."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import ModelProto, parser

if TYPE_CHECKING:
    pass


TWO_INPUTS = """
<ir_version: 8, opset_import: ["": 17]>
g (float[N, 4] x, float[N, 4] y) => (float[N, 3] out)
<float[4, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12.5}>
{
    s = Add(x, y)
    r = Relu(s)
    m = MatMul(r, w)
    n = Shape(m)
    out = Sigmoid(m)
}
"""


FLOATS = ["x", "y", "s", "r", "m", "out"]


def parsed(text: str) -> ModelProto:
    model = parser.parse_model(text)
    onnx.checker.check_model(model, full_check=True)
    return model


def feeds(*batches: int, seed: int = 0) -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    return [{n: rng.standard_normal((batch, 4)).astype(np.float32) for n in "xy"} for batch in batches]
