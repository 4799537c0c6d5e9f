"""A layer lies in two networks: in the float one, and in the quantized one as it is simulated."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .candidates import KEEP
from .finetuned import LayerResult
from .layer import Layer, layer_of, with_added_bias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from onnx import NodeProto

    from ort_vitis_plugin.api import Graph

    from .grid import Grid


@dataclass(frozen=True)
class Pair:
    """A layer as the float network and the quantized one have it; constants by their names in both."""

    layer: Layer
    simulated: NodeProto
    weights: tuple[str, str]
    bias: tuple[str, str] | None
    quantized_output: str

    @property
    def float_input(self) -> str:
        return str(self.layer.node.input[self.layer.data])

    @property
    def quantized_input(self) -> str:
        return str(self.simulated.input[self.layer.data])

    @property
    def float_output(self) -> str:
        """What the layer gives, its bias added."""
        return str((self.layer.bias_node or self.layer.node).output[0])

    @property
    def constants(self) -> list[tuple[str, str]]:
        return [self.weights, *([self.bias] if self.bias is not None else [])]


class Pairs:
    """The layers of a float network that have a twin in a quantized one, in its order; ``declined`` are those that
    cannot be changed, with the reason.

    Layers whose weights are rounded to no grid are among them where ``only_biases`` change.
    """

    def __init__(
        self, floats: Graph, quantized: Graph, grids: Mapping[str, Grid], *, only_biases: bool = False
    ) -> None:
        self.floats, self.quantized, self.grids = floats, quantized, grids
        self._only_biases = only_biases
        self.declined: list[LayerResult] = []
        self.found = list(self._find())

    def _find(self) -> Iterator[Pair]:
        simulated = {node.name: node for node in self.quantized if node.name}
        shapes = {name: tuple(tensor.dims) for name, tensor in self.floats.initializers.items()}
        place = {node.name: number for number, node in enumerate(self.quantized.sorted()) if node.name}
        nodes = [node for node in self.floats if node.name in simulated]
        for node in sorted(nodes, key=lambda node: place[node.name]):
            layer, other = layer_of(node, shapes), simulated[node.name]
            if isinstance(layer, str) or other.op_type != node.op_type:
                continue
            weights = (node.input[layer.constant], other.input[layer.constant])
            if weights[1] not in self.grids and not (self._only_biases and self._is_rounded(weights[1])):
                continue
            add = self.floats.sole_consumer(node.output[0])
            if node.op_type == "MatMul" and add is not None and add.op_type == "Add" and add.name in simulated:
                layer = with_added_bias(layer, add, shapes)
            bias = None
            if layer.bias_node is not None:
                bias = (layer.bias_node.input[layer.bias_at], simulated[layer.bias_node.name].input[layer.bias_at])
            end = other if layer.bias_node is None else simulated[layer.bias_node.name]
            pair = Pair(layer, other, weights, bias, end.output[0])
            reason = self._refusal(pair)
            if bias is not None and reason and layer.bias_node is not node:
                # The Add is none of its business.
                pair = Pair(replace(layer, bias_node=None), other, weights, None, other.output[0])
                reason = self._refusal(pair)
            if reason:
                self.declined.append(LayerResult(node.name, KEEP, math.nan, math.nan, reason))
            else:
                yield pair

    def _is_rounded(self, weights: str) -> bool:
        """Whether weights pass a node before their layer reads them."""
        return weights not in self.quantized.initializers

    def _refusal(self, pair: Pair) -> str:
        changed = pair.constants
        if self._only_biases:
            changed = [constants for constants in changed if constants[1] in self.grids or constants == pair.bias]
        for ours, theirs in changed:
            if self.floats.sole_consumer(ours) is None or self.quantized.sole_consumer(theirs) is None:
                return f"others read {ours} too"
            if theirs not in self.quantized.initializers:
                return f"{ours} has no plain values"
        return ""
