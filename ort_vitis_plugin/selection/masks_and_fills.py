"""Constants that are not data set no scale: attention masks, fills of -inf or the lowest float, pads before a maximum.

Three rules, all read from the graph and from what calibration saw:

1. A tensor that reaches the largest magnitudes of its type (or infinity) stays float.
2. Masks. In front of an operation that turns a very negative number into nothing (Softmax, Exp, Sigmoid, a maximum),
   an addend or an alternative is a mask when its lowest value L is at most -50 and no value lies between L/2 and L/10:
   whatever is kept lies near 0. So is an addend that was 0 in every sample (a mask that never masked). Masks, and the
   tensors between them and that operation, stay float. Where no sample was run, what follows from integers is one.
3. A constant Pad that only a maximum reads, and that pads with less than its data holds, takes the scale of its data:
   the pad saturates, which no maximum can see.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto

from ..graph import DEFAULT_DOMAINS, attribute, subgraphs
from ..graph.op_sets import MOVES, PRODUCTS

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import NodeProto

    from ..calibration.statistics import Statistics
    from ..graph import Graph
    from ..sketch import Sketch

# Tensors behind an addend; what needs more of them is no mask.
FAR = 64
# Magnitudes that stand for infinity, by element type.
LARGEST = 1e30
ENDLESS: dict[int, float] = {TensorProto.FLOAT: LARGEST, TensorProto.FLOAT16: 65000.0}
# exp(-50) is 2e-22: what lies so far below the rest does not show beside it.
LEAST_FILL = -50.0

MAXIMA = frozenset({"MaxPool", "GlobalMaxPool", "ReduceMax"})
SINKS = MAXIMA | {"Softmax", "LogSoftmax", "Exp", "Sigmoid", "ReduceLogSumExp", "ArgMax", "TopK"}
KEEPS = MOVES | {"Cast", "Pad", "Trilu"}
# Operations that compute data: what they write is judged by rule 1 and by the masks added in them.
COMPUTES = PRODUCTS | {"Einsum", "BatchNormalization", "LayerNormalization"}

MASK = "an attention mask"
MASKED = "holds masked values"
IDLE_MASK = "a mask that was zero in every sample"
FILL = "holds infinities or lowest-float fills"
PAD = "a pad value below all data in front of a maximum"

Signed = tuple[str, int]  # a tensor, times 1 or -1


class NotData:
    """Why tensors are no data, and whose scale a padded tensor takes instead."""

    def __init__(self, graph: Graph, statistics: Statistics) -> None:
        self._graph, self._statistics = graph, statistics
        self._masked: set[Signed] = set()
        self.reasons: dict[str, str] = {}
        self.padded: dict[str, str] = {}
        for node in graph.of_type("Pad"):
            self._pad(node)
        self._find_masks(graph.sorted())

    def reason(self, tensor: str) -> str | None:
        """Why the tensor sets no scale, or None where it is data."""
        if tensor not in self.padded and tensor not in self.reasons and self._is_endless(tensor):
            self.reasons[tensor] = FILL
        return self.reasons.get(tensor)

    # ------------------------------------------------------------------ rule 1

    def _is_endless(self, tensor: str) -> bool:
        least = ENDLESS.get(self._graph.element_type(tensor), LARGEST)
        array = self._constant(tensor)
        if array is not None:
            reach = np.abs(array.astype(np.float64))
            return bool(np.fmax.reduce(reach, axis=None, initial=0.0) >= least)
        sketch = self._statistics.get(tensor)
        return sketch is not None and sketch.abs_max >= least

    # ------------------------------------------------------------------ rule 2

    def _find_masks(self, nodes: Sequence[NodeProto]) -> None:
        """Up from the sinks as long as values are only moved and mixed, then down again with the masks found."""
        asked: dict[Signed, None] = {}
        for node in reversed(nodes):
            if node.op_type in SINKS and node.domain in DEFAULT_DOMAINS:
                asked[node.input[0], 1] = None
            for sign in (1, -1):
                if any((tensor, sign) in asked for tensor in node.output):
                    asked.update(dict.fromkeys(self._sources(node, sign)))
        for tensor, sign in asked:
            if self._graph.producer(tensor) is None:
                self._judge(tensor, sign, None)
        for node in nodes:
            for tensor in node.output:
                for sign in (1, -1):
                    if (tensor, sign) in asked:
                        self._judge(tensor, sign, node)

    def _judge(self, tensor: str, sign: int, node: NodeProto | None) -> None:
        reason = self._mask_reason(tensor, sign, node) if tensor not in self.padded else None
        if reason is not None:
            self._masked.add((tensor, sign))
            self.reasons.setdefault(tensor, reason)

    def _mask_reason(self, tensor: str, sign: int, node: NodeProto | None) -> str | None:
        """Why ``sign * tensor`` is a mask or holds one, or None."""
        array = self._constant(tensor)
        if array is not None:
            return MASK if _has_gap(array.astype(np.float64).reshape(-1) * sign) else None
        if self._graph.element_type(tensor) not in ENDLESS:
            return None
        if node is not None:
            self._note_idle_masks(node)
            if any(source in self._masked for source in self._sources(node, sign)):
                return MASKED
        sketch = self._statistics.get(tensor)
        if sketch is None and not self._statistics and self._follows_from_integers(tensor):
            return MASK
        if sketch is None or (node is not None and node.op_type in COMPUTES):
            return None
        if sketch.inf_count and node is not None:
            return MASKED
        return MASK if _sketch_has_gap(sketch, sign) else None

    def _follows_from_integers(self, tensor: str) -> bool:
        """Whether no float of the caller's goes into it: where no sample was run, this is all that tells a mask."""
        waiting, seen = [tensor], {tensor}
        fed = False
        while waiting:
            name = waiting.pop()
            node = self._graph.producer(name)
            if node is None:
                if self._graph.is_constant(name):
                    continue
                if self._graph.element_type(name) in (*ENDLESS, TensorProto.UNDEFINED):
                    return False
                fed = True
            elif node.op_type in COMPUTES or subgraphs(node) or len(seen) > FAR:
                return False
            else:
                waiting += [source for source in node.input if source and source not in seen]
                seen.update(node.input)
        return fed

    def _sources(self, node: NodeProto, sign: int) -> Iterator[Signed]:
        """The inputs whose masks the node passes on, each with the sign under which it does."""
        inputs = [tensor for tensor in node.input if tensor]
        if node.domain not in DEFAULT_DOMAINS:
            return
        if node.op_type in KEEPS:
            yield inputs[0], sign
        elif node.op_type in ("Add", "Min", "Concat"):
            yield from ((tensor, sign) for tensor in inputs)
        elif node.op_type == "Where":
            yield from ((tensor, sign) for tensor in inputs[1:])
        elif node.op_type == "Gemm":
            # onnxruntime fuses MatMul and Add into it: then the mask is the bias.
            yield from ((tensor, sign) for tensor in inputs[2:])
        elif node.op_type == "Sub":
            yield from zip(inputs, (sign, -sign), strict=True)
        elif node.op_type == "Max":
            # A constant is a floor under all values, not a mask of some.
            yield from ((tensor, sign) for tensor in inputs if self._constant(tensor) is None)

    def _note_idle_masks(self, node: NodeProto) -> None:
        if node.op_type not in ("Add", "Sub"):
            return
        for tensor in node.input:
            sketch = self._statistics.get(tensor)
            if sketch is not None and sketch.count and not sketch.abs_max and self._constant(tensor) is None:
                self._masked |= {(tensor, 1), (tensor, -1)}
                self.reasons.setdefault(tensor, IDLE_MASK)

    # ------------------------------------------------------------------ rule 3

    def _pad(self, node: NodeProto) -> None:
        if attribute(node, "mode", b"constant") != b"constant" or node.output[0] in self._graph.outputs:
            return
        readers = self._graph.consumers(node.output[0])
        if not readers or any(reader.op_type not in MAXIMA for reader in readers):
            return
        given = node.input[2] if len(node.input) > 2 else ""
        array = self._constant(given) if given else None
        value = attribute(node, "value", 0.0) if array is None else float(array.reshape(-1)[0])
        data = self._statistics.get(node.input[0])
        if data is not None and data.count and value < min(data.minimum, 0.0):
            self.padded[node.output[0]] = node.input[0]
            self.reasons[given or node.output[0]] = PAD

    # ------------------------------------------------------------------ inside

    def _constant(self, tensor: str) -> NDArray[Any] | None:
        array = self._graph.array(tensor) if self._graph.is_constant(tensor) else None
        return array if array is not None and array.dtype.kind == "f" else None


def _has_gap(values: NDArray[np.float64]) -> bool:
    """Whether the values fall into fills, far below, and what is kept."""
    if not values.size or np.isnan(values).any():
        return False
    low = float(values.min())
    if low > LEAST_FILL:
        return False
    if np.isneginf(low):
        return True
    return not bool(((values > low / 2) & (values < low / 10)).any())


def _sketch_has_gap(sketch: Sketch, sign: int) -> bool:
    low, high = (sketch.minimum, sketch.maximum) if sign > 0 else (-sketch.maximum, -sketch.minimum)
    if not sketch.count or low > LEAST_FILL:
        return False
    if high <= low / 2:  # nothing is kept
        return True
    limits = (low / 2, low / 10) if sign > 0 else (-low / 10, -low / 2)
    return int(sketch.histogram(1, limits)[0][0]) == 0
