"""A tensor of any rank as blocks along an axis, powers of two and rounding, in ONNX's own ops."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from onnx import AttributeProto, TensorProto

from ort_vitis_plugin.api import FunctionBody

MINIMUM_OPSET = 14
"""Before it Reshape could not name a dimension of zero."""

_FAR = 2**31
"""An index that no dimension has."""


@dataclass(frozen=True)
class Layout:
    """Names of x as blocks: ``blocks`` is [number of blocks, parts of a block, elements of a part, inner]."""

    shape: str
    lines: str
    length: str
    blocks: str
    is_single: str


class BlockBody(FunctionBody):
    """Every method appends nodes and returns the name of their result."""

    def float32(self, value: float) -> str:
        return self.constant(np.array(value, np.float32))

    def float64(self, value: float) -> str:
        return self.constant(np.array(value, np.float64))

    def integers(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def attribute_vector(self, name: str) -> str:
        """The calling node's integer attribute as a vector of one element."""
        return self.call("Reshape", self.attribute(name, AttributeProto.INT), self.integers(1))

    def chosen(self, name: str, names: Sequence[str]) -> str:
        """The calling node's text attribute as a row of zeros with a one at its place among ``names``."""
        text = self.call("Reshape", self.attribute(name, AttributeProto.STRING), self.integers(1))
        return self.call(
            "TfIdfVectorizer",
            text,
            mode="TF",
            min_gram_length=1,
            max_gram_length=1,
            max_skip_count=0,
            ngram_counts=[0],
            ngram_indexes=list(range(len(names))),
            pool_strings=list(names),
        )

    def reduced(self, op_type: str, tensor: str, axis: int) -> str:
        """A reduction over one axis, which stays with size 1; the axes became an input in opset 18."""
        if self.opset < 18:
            return self.call(op_type, tensor, axes=[axis], keepdims=1)
        return self.call(op_type, tensor, self.integers(axis), keepdims=1)

    def product(self, *parts: str) -> str:
        return self.call("ReduceProd", self.call("Concat", *parts, axis=0), keepdims=1)

    def smaller(self, a: str, b: str) -> str:
        return self.call("Where", self.call("Less", a, b), a, b)

    def rounded_up(self, a: str, b: str) -> str:
        """The number of ``b`` that hold ``a``, both positive integers."""
        above = self.call("Sub", self.call("Add", a, b), self.integers(1))
        return self.call("Div", above, b)

    def layout(self, part_size: str) -> Layout:
        """x in blocks, with zeros where a line ends early.

        ``part_size`` divides the block; where it is empty, a block is one part. A block larger than the line is cut to
        it, so no attribute decides how much memory is taken. A vector has one axis whatever the attribute says; an
        axis out of range stops at Gather.
        """
        zero, one = self.integers(0), self.integers(1)
        shape = self.call("Shape", "x")
        rank = self.call("Shape", shape)
        stated = self.attribute_vector("axis")
        axis = self.call("Where", self.call("Less", stated, zero), self.call("Add", stated, rank), stated)
        outside = self.call("Or", self.call("Less", axis, zero), self.call("Not", self.call("Less", axis, rank)))
        place = self.call("Where", outside, self.integers(_FAR), self.call("Add", axis, self.integers(2)))
        is_vector = self.call("Less", rank, self.integers(2))
        place = self.call("Where", is_vector, self.call("Add", rank, one), place)
        sizes = self.call("Concat", one, one, shape, one, axis=0)
        length = self.call("Gather", sizes, place, axis=0)
        outer = self.product(self.call("Slice", sizes, zero, place, zero))
        inner = self.product(self.call("Slice", sizes, self.call("Add", place, one), self.integers(_FAR), zero))

        block = self.attribute_vector("block_size")
        part = part_size or one
        longest = self.call("Where", self.call("Less", length, one), one, length)
        whole = self.call("Mul", self.rounded_up(longest, part), part)
        block = self.smaller(block, whole)
        part = self.smaller(part, block) if part_size else block
        count = self.rounded_up(length, block)
        fill = self.call("Sub", self.call("Mul", count, block), length)
        lines = self.call("Concat", outer, length, inner, axis=0)
        filled = self.call(
            "Pad",
            self.call("Reshape", "x", lines, allowzero=1),
            self.call("Concat", zero, zero, zero, zero, fill, zero, axis=0),
        )
        rows = self.call("Mul", outer, count)
        dims = self.call("Concat", rows, self.call("Div", block, part), part, inner, axis=0)
        return Layout(
            shape=shape,
            lines=self.call("Concat", outer, self.call("Mul", count, block), inner, axis=0),
            length=length,
            blocks=self.call("Reshape", filled, dims, allowzero=1),
            is_single=self.call("Equal", self.call("Size", "x"), self.constant(np.array(1, np.int64))),
        )

    def finish(self, layout: Layout, blocks: str) -> None:
        """The output y of x's shape."""
        lines = self.call("Reshape", blocks, layout.lines, allowzero=1)
        kept = self.call("Slice", lines, self.integers(0), layout.length, self.integers(1))
        self.call("Reshape", kept, layout.shape, allowzero=1, result="y")

    def below(self, layout: Layout, magnitudes: str, bound: float = np.inf) -> str:
        """Where x takes part: below infinity. NaN does not, nor does what is not zero in a tensor of one element."""
        largest = self.call("Where", layout.is_single, self.float32(2.0**-149), self.float32(bound))
        return self.call("Less", magnitudes, largest)

    def power_below(self, value: str) -> str:
        """2^floor(log2 value) of positive doubles that hold a float32.

        v (2^52 + 1) rounds to a multiple of 2^e for v in [2^e, 2^(e+1)), so without v 2^52 it is one or two of these.
        """
        nearest = self.call(
            "Sub", self.call("Mul", value, self.float64(2.0**52 + 1)), self.call("Mul", value, self.float64(2.0**52))
        )
        half = self.call("Mul", nearest, self.float64(0.5))
        return self.call("Where", self.call("Greater", nearest, value), half, nearest)

    def block_power(self, maximum: str) -> str:
        """2^E as a double; E is -127 where the largest magnitude is zero or subnormal."""
        wide = self.cast(maximum, TensorProto.DOUBLE)
        least = self.float64(2.0**-127)
        return self.power_below(self.call("Where", self.call("Greater", wide, least), wide, least))

    def to_integers(self, steps: str, modes: frozenset[int], is_even: str = "") -> str:
        """The nearest integers; attribute ``rounding_mode`` is read where ``modes`` are several.

        Op Round goes to the even neighbour and keeps the sign of a zero, and so does subtracting 0. ``is_even`` says
        where the mode does not count.
        """
        even = self.call("Round", steps)
        if modes <= {2}:
            return even
        rest = self.call("Sub", steps, even)
        positive = self.call("Greater", steps, self.float32(0))
        went_down = self.call("Equal", rest, self.float32(0.5))
        went_up = self.call("Equal", rest, self.float32(-0.5))
        raised = self.call("And", went_down, positive)
        lowered = self.call("And", went_up, self.call("Not", positive))
        if modes > {0} or modes > {1} or is_even:
            mode = self.attribute("rounding_mode", AttributeProto.INT)
            away = self.call("Equal", mode, self.constant(np.array(0, np.int64)))
            up = self.call("Equal", mode, self.constant(np.array(1, np.int64)))
            if is_even:
                odd = self.call("Not", is_even)
                away, up = self.call("And", away, odd), self.call("And", up, odd)
            raised = self.call("Or", self.call("And", away, raised), self.call("And", up, went_down))
            lowered = self.call("And", away, lowered)
        elif modes == {1}:
            return self.call("Sub", even, self.call("Where", went_down, self.float32(-1), self.float32(0)))
        down = self.call("Where", lowered, self.float32(1), self.float32(0))
        return self.call("Sub", even, self.call("Where", raised, self.float32(-1), down))

    def unlike(self, condition: str) -> str:
        """Where the condition does not hold. After a Not, ORT would exchange the values of a Where."""
        return self.call("Equal", condition, self.constant(np.array(False)))

    def either(self, condition: str, value: str, otherwise: str) -> str:
        """``value`` where the condition holds. A -0.0 belongs into ``otherwise``: ORT's Where keeps it only there."""
        return self.call("Where", condition, value, otherwise)
