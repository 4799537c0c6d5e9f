"""MX as a function: y = S element(x / S), S = 2^max(E - emax, -127)."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from onnx import TensorProto

from .block_body import BlockBody
from .element_types import ELEMENT_TYPES, ElementType

_LOWEST = -127 * 2.0**121
"""-128 steps of 2^121 are no float."""


@dataclass(frozen=True)
class _Parameters:
    """Names of doubles of one element, and of whether the element is an integer (empty: known)."""

    scale: str
    least: str
    fraction: str
    low: str
    high: str
    is_integer: str


def _values(element: ElementType) -> list[float]:
    fraction = 2.0**-element.mantissa
    return [2.0**-element.emax, 2.0**element.emin, fraction, element.low, element.high, float(element.is_integer)]


def _parameters(body: BlockBody, elements: list[ElementType]) -> _Parameters:
    if len(elements) == 1:
        scale, least, fraction, low, high = (body.float64(value) for value in _values(elements[0])[:5])
        return _Parameters(scale, least, fraction, low, high, is_integer="")
    row = body.chosen("element_dtype", list(ELEMENT_TYPES))
    table = body.constant(np.array([_values(element) for element in ELEMENT_TYPES.values()], np.float32))
    found = body.call("MatMul", body.call("Reshape", row, body.integers(1, -1)), table)
    found = body.call("Reshape", found, body.integers(-1))
    columns = [
        body.call("Slice", found, body.integers(column), body.integers(column + 1), body.integers(0))
        for column in range(6)
    ]
    scale, least, fraction, low, high = (body.cast(column, TensorProto.DOUBLE) for column in columns[:5])
    return _Parameters(scale, least, fraction, low, high, body.call("Greater", columns[5], body.float32(0)))


def microscaling_body(body: BlockBody, elements: list[ElementType], modes: frozenset[int]) -> None:
    """Nodes from x to y for all nodes whose ``element_dtype`` and ``rounding_mode`` are among these."""
    known = _parameters(body, elements)
    layout = body.layout("")
    x = layout.blocks
    magnitudes = body.call("Abs", x)
    takes_part = body.below(layout, magnitudes)
    finite = body.call("Where", takes_part, magnitudes, body.float32(0))
    scale = body.call("Mul", body.block_power(body.reduced("ReduceMax", finite, 2)), known.scale)
    smallest = body.float64(2.0**-127)
    scale = body.call("Where", body.call("Greater", scale, smallest), scale, smallest)
    power = body.call("Mul", scale, known.least)
    if not all(element.is_integer for element in elements):
        wide = body.cast(finite, TensorProto.DOUBLE)
        own = body.power_below(body.call("Where", body.call("Greater", wide, power), wide, power))
        power = body.call("Where", known.is_integer, power, own) if known.is_integer else own
    step = body.cast(body.call("Mul", power, known.fraction), TensorProto.FLOAT)
    if all(element.is_integer for element in elements):
        steps = body.to_integers(body.call("Div", x, step), modes)
    elif known.is_integer:
        is_even = body.call("Not", known.is_integer)
        steps = body.to_integers(body.call("Div", x, step), modes, is_even)
    else:
        steps = body.to_integers(body.call("Div", x, step), frozenset({2}))
    result = body.call("Mul", steps, step)
    low, high = (body.cast(body.call("Mul", scale, bound), TensorProto.FLOAT) for bound in (known.low, known.high))
    low = body.call("Max", low, body.float32(_LOWEST))
    result = body.call("Min", body.call("Max", result, low), high)
    body.finish(layout, body.either(body.unlike(takes_part), layout.blocks, result))
