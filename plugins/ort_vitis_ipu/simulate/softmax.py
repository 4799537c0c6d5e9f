"""The DPU's Softmax: a cubic for the fraction of the exponent, every intermediate result rounded to bfloat16.

With x rounded to bfloat16 (b):  n = floor(x log2(e)),  r = b(x - n ln(2)),
p = b(b(b(0.21875 r + 0.486328125) r + 1) r + 1),  e = b(2^n p),  y = b(e / b(sum(e))).
No maximum is subtracted first: beyond x = 88 the exponential is infinite, as it is on the device.

Source: option ConvertSoftmaxToDPUVersion of the Vitis AI Quantizer for ONNX 1.16 manual; the steps and their
coefficients are those of the nodes that such a model holds.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import NodeProto, TensorProto

from ort_vitis_plugin.api import Stage, attribute, transform

from .bfloat16 import Steps
from .factor import declines

if TYPE_CHECKING:
    from ort_vitis_plugin.api import Context, Graph

LOG2_E, LN_2 = 1.4426950408889634, 0.6931471805599453
CUBIC = (0.21875, 0.486328125, 1.0, 1.0)

# Below opset 13 Softmax normalizes over the axis and all behind it, since then over the axis alone.
ONE_AXIS_OPSET = 13


def _axes(graph: Graph, node: NodeProto) -> list[int] | None:
    if graph.opset >= ONE_AXIS_OPSET:
        return [attribute(node, "axis", -1)]
    shape, axis = graph.shape(node.input[0]), attribute(node, "axis", 1)
    return None if shape is None else list(range(axis % max(len(shape), 1), len(shape)))


def _reason(graph: Graph, node: NodeProto) -> str | None:
    if graph.element_type(node.input[0]) not in (0, TensorProto.FLOAT):
        return "its input is not float32"
    return "the rank of its input is unknown" if _axes(graph, node) is None else None


def _sum(graph: Graph, steps: Steps, tensor: str, axes: list[int]) -> str:
    if graph.opset < ONE_AXIS_OPSET:
        return steps("ReduceSum", tensor, axes=axes, keepdims=1)
    listed = graph.add_initializer(f"{steps.out}_Axes", np.asarray(axes, dtype=np.int64))
    return steps("ReduceSum", tensor, listed, keepdims=1)


def _replace(graph: Graph, node: NodeProto, axes: list[int]) -> None:
    original = NodeProto()
    original.CopyFrom(node)
    graph.remove(node)
    steps = Steps(graph, node.output[0])
    x = steps.round(node.input[0])
    n = steps("Floor", steps("Mul", x, LOG2_E))
    r = steps.round(steps("Sub", x, steps("Mul", n, LN_2)))
    p = steps.round(steps("Add", steps("Mul", r, CUBIC[0]), CUBIC[1]))
    for coefficient in CUBIC[2:]:
        p = steps.round(steps("Add", steps("Mul", p, r), coefficient))
    e = steps.round(steps("Mul", steps("Pow", 2.0, n), p))
    steps.round(steps("Div", e, steps.round(_sum(graph, steps, e, axes))))
    steps.finish(original.name)
    graph.simulated_node[original.name] = original


@transform(
    "ConvertSoftmaxToDPUVersion",
    stage=Stage.SIMULATE,
    default=False,
    target="ipu_cnn",
    needs="SimulateDPU",
    changes_function=True,
)
def softmax(graph: Graph, context: Context) -> int:
    """Replace Softmax by the DPU's own: a cubic for 2^fraction, intermediate results in bfloat16."""
    count = 0
    for node in graph.of_type("Softmax"):
        reason = _reason(graph, node)
        if reason is not None:
            graph.skip(node, reason)
            continue
        if declines(graph, node, context):
            continue
        axes = _axes(graph, node)
        if axes is not None:
            _replace(graph, node, axes)
            count += 1
    return count
