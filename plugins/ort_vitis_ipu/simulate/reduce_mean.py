"""The DPU averages over any axes by a multiplication and a shift.

Source: option ConvertReduceMeanToDPUVersion of the Vitis AI Quantizer for ONNX 1.16 manual; models of that release
carry the factors that `reciprocal` computes.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ort_vitis_plugin.api import Stage, attribute, has_input, integers, transform

from .factor import insert_factors
from .reciprocal import mean_factor

if TYPE_CHECKING:
    from onnx import NodeProto

    from ort_vitis_plugin.api import Context, Graph


def _axes(graph: Graph, node: NodeProto, rank: int) -> list[int] | None:
    """The reduced axes: an attribute below opset 18, an input since; none given means all, or none at all."""
    axes = integers(graph, node, "axes", 1)
    if axes is None and has_input(node, 1):
        return None
    if not axes:
        return [] if attribute(node, "noop_with_empty_axes", 0) else list(range(rank))
    return [axis % rank for axis in axes]


def _reduced(graph: Graph, node: NodeProto) -> int | None:
    """How many values are averaged, None where that is not known before run time."""
    shape = graph.shape(node.input[0])
    if not shape:
        return None
    axes = _axes(graph, node, len(shape))
    if axes is None:
        return None
    sides = [side for side in (shape[axis] for axis in axes) if isinstance(side, int) and side > 0]
    return math.prod(sides) if len(sides) == len(axes) else None


def _factor(graph: Graph, node: NodeProto) -> float | None:
    number = _reduced(graph, node)
    return None if number is None else mean_factor(number)


@transform(
    "ConvertReduceMeanToDPUVersion",
    stage=Stage.SIMULATE,
    target="ipu_cnn",
    needs="SimulateDPU",
    changes_function=True,
)
def reduce_mean(graph: Graph, context: Context) -> int:
    """Multiply a ReduceMean over n values by n * K / 2^s, what the DPU computes for 1."""
    return insert_factors(graph, context, graph.of_type("ReduceMean"), _factor)
