"""The operators that the torch executor computes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from . import elementwise, index, linear, normalize, padding, pool, quantize, reduce, resize, shape
from .registry import Attributes, Function, function_of, operator, operators, tensor_of

__all__ = [
    "Attributes",
    "Function",
    "elementwise",
    "function_of",
    "index",
    "linear",
    "normalize",
    "operator",
    "operators",
    "padding",
    "pool",
    "quantize",
    "reduce",
    "resize",
    "shape",
    "tensor_of",
]
