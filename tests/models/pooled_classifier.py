"""A convolution, its activation, a pool and a Gemm: the least network in which channels meet twice."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto

from ort_vitis_plugin.testing import graph

SHAPES = {"w": (16, 4, 3, 3), "b": (16,), "v": (16, 10), "d": (10,)}


def constants(rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    """Weights and biases, drawn from a normal distribution."""
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in SHAPES.items()}


def pooled_classifier(values: Mapping[str, NDArray[Any]], batch: int = 1) -> ModelProto:
    """x [batch, 4, 8, 8] to y [batch, 10]."""
    text = f"""
    t (float[{batch}, 4, 8, 8] x) => (float[{batch}, 10] y) {{
      c = Conv<pads = [1, 1, 1, 1]>(x, w, b)
      r = Relu(c)
      p = GlobalAveragePool(r)
      f = Flatten(p)
      y = Gemm(f, v, d)
    }}
    """
    return graph(text, 17, dict(values))
