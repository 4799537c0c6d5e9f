"""What a tensor's relative error costs the outputs: an addend counts by its share of the sum.

In z = a + b an error of ``a`` is an error of z, so relative to z it is the error relative to a, times ms(a) / ms(z)
with ms the mean square. So it is with the bias of a convolution, and with its product: by Cauchy and Schwarz the mean
square of a sum of k products w * x is at most k^2 ms(w) ms(x). What feeds nothing but such an addend counts no more
than it does. A small constant beside a large activation may then lose all its bits before the activation clips.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..graph import attribute
from ..graph.op_sets import WITH_BIAS
from ..plan.error_curve import ErrorCurve

if TYPE_CHECKING:
    from onnx import NodeProto

    from ..plan import Plan

ADDING = frozenset({"Add", "Sub", "Sum"})


class ErrorWeights:
    """The factor of each tensor's relative error, at most 1, by its readers and theirs."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.graph = plan, plan.graph
        self._known: dict[str, float] = {}
        self._squares: dict[str, float | None] = {}
        for node in reversed(self.graph.sorted()):
            for tensor in node.output:
                self._known[tensor] = self._weigh(tensor)

    def of(self, tensor: str) -> float:
        """The factor of one tensor."""
        if tensor not in self._known:
            self._known[tensor] = self._weigh(tensor)
        return self._known[tensor]

    def _weigh(self, tensor: str) -> float:
        readers = self.graph.consumers(tensor) if tensor else []
        if not readers or tensor in self.graph.outputs:
            return 1.0
        return max(self._share(tensor, reader) * self._end(reader) for reader in readers)

    def _end(self, node: NodeProto) -> float:
        return max((self._known.get(tensor, 1.0) for tensor in node.output if tensor), default=1.0)

    def _share(self, tensor: str, reader: NodeProto) -> float:
        """The part of the reader's output that the tensor makes; 1 where that is not known."""
        is_bias = reader.op_type in WITH_BIAS and len(reader.input) > 2
        if reader.op_type not in ADDING and not is_bias:
            return 1.0
        total = self._mean_square(self.plan.output_of(reader))
        own = self._product(reader) if is_bias and tensor in reader.input[:2] else self._mean_square(tensor)
        return 1.0 if not total or own is None else min(own / total, 1.0)

    def _product(self, node: NodeProto) -> float | None:
        """At most what the mean square of w * x is, without the bias."""
        x, w = self._mean_square(node.input[0]), self._mean_square(node.input[1])
        weight = self.graph.initializers.get(node.input[1])
        if x is None or w is None or weight is None:
            return None
        by_columns = node.op_type == "ConvTranspose" or (node.op_type == "Gemm" and not attribute(node, "transB", 0))
        terms = math.prod(weight.dims) / max(weight.dims[1 if by_columns else 0], 1)
        return float(terms * terms * w * x)

    def _mean_square(self, name: str) -> float | None:
        if name not in self._squares:
            self._squares[name] = self._seen_square(name)
        return self._squares[name]

    def _seen_square(self, name: str) -> float | None:
        tensor = self.plan.tensors.get(self.plan.fused_end(name)) if name else None
        if tensor is None or not isinstance(tensor.curve, ErrorCurve) or not tensor.curve.sketch.count:
            return None
        return float(tensor.curve.sketch.sum_squares / tensor.curve.sketch.count)
