"""Rounding to bfloat16 inside a float graph, for every runtime that has no bfloat16 arithmetic.

Source: Rump, Zimmermann, Boldo, Melquiond, "Computing predecessor and successor in rounding to nearest", BIT 2009.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import NodeProto, TensorProto

if TYPE_CHECKING:
    from ort_vitis_plugin.api import Graph

# Cast knows bfloat16 since opset 13.
CAST_OPSET = 13
MAGIC = float(3 * 2**22)


class Steps:
    """Adds nodes that simulate one operation, each under a name derived from the operation's output."""

    def __init__(self, graph: Graph, out: str) -> None:
        self.graph, self.out = graph, out
        self.last: NodeProto | None = None

    def __call__(self, op_type: str, *inputs: str | float, **attributes: Any) -> str:
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        output = self.graph.unique(f"{self.out}_{op_type}")
        self.last = self.graph.make(op_type, names, [output], f"{output}_Step", **attributes)
        self.graph.device_nodes.add(self.last.name)
        return output

    def constant(self, value: float) -> str:
        return self.graph.add_initializer(f"{self.out}_Constant", np.asarray(value, dtype=np.float32))

    def round(self, x: str) -> str:
        """x rounded to the nearest bfloat16, ties to even.

        Without a Cast: with q = (2^23 + 1) x, L = |q - q (1 - 2^-24)| is the power of two next to |x| from below
        (after Rump, Zimmermann, Boldo, Melquiond 2009), u = 2^-7 L the last bit of a bfloat16 there, and the result
        (x / u + M - M) u: beside M = 3 * 2^22 a float32 has no fraction left, so the sum rounds.
        """
        if self.graph.opset >= CAST_OPSET:
            return self("Cast", self("Cast", x, to=TensorProto.BFLOAT16), to=TensorProto.FLOAT)
        q = self("Mul", x, float(2**23 + 1))
        power = self("Abs", self("Sub", q, self("Mul", q, 1 - 1 / 2**24)))
        unit = self("Max", self("Mul", power, 1 / 2**7), 1 / 2**100)
        whole = self("Sub", self("Add", self("Div", x, unit), MAGIC), MAGIC)
        return self("Mul", whole, unit)

    def finish(self, name: str) -> None:
        """Let the last node write the operation's output, under the operation's name."""
        assert self.last is not None
        self.graph.device_nodes.discard(self.last.name)
        self.graph.set_outputs(self.last, [self.out])
        self.last.name = name
