"""Sine and cosine of many periods read the last digits of their argument, which codes do not have.

    sin(position * frequency)        rotary and sinusoidal position embeddings, timestep embeddings

With n bits for the range [-a, a] the step is a / 2^(n - 1), with n bits of significand a / 2^n; beyond a 64th of a
period it shows (-30 dB), which 8 bits reach at a = 4 pi. From there on the argument stays float, and so does all that
computes nothing but arguments, back to positions and frequencies; a product of matrices is computed in codes as before.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from onnx import TensorProto

from ort_vitis_plugin.api import PERIODIC, Graph, Stage, StaysFloat, leave_float

from .decisions import WORTH_CODES, traced

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnx import NodeProto

    from ort_vitis_plugin.api import Context, QType

STEPS_OF_A_PERIOD = 64
SIGNIFICANDS: dict[int, int] = {TensorProto.BFLOAT16: 8, TensorProto.FLOAT16: 11}
REASON = "{op_type} {node} turns it through {periods:.0f} periods, which {kind} does not resolve"


def _digits(kind: QType) -> int:
    return SIGNIFICANDS.get(kind.element_type, kind.bits - 1)


@leave_float("FloatAngles", stage=Stage.AFTER_CALIBRATION)
def float_angles(graph: Graph, context: Context) -> StaysFloat:
    """Leave arguments of Sin and Cos float that span more periods than codes resolve, back to positions times rates."""
    statistics = context.statistics
    if statistics is None:
        return StaysFloat()
    # Rates are weights where they are multiplied by as a matrix.
    kind = min(context.activation, context.weight, key=_digits)
    most = 2 * math.pi / STEPS_OF_A_PERIOD * 2 ** _digits(kind)
    reach = {
        node.name: sketch.abs_max
        for node in graph.of_type(*PERIODIC)
        if (sketch := statistics.get(node.input[0])) is not None and sketch.abs_max > most
    }

    def arguments(node: NodeProto) -> Iterable[str]:
        return (node.input[0],) if node.name in reach else ()

    found = traced(graph, arguments, WORTH_CODES)

    def reason(end: NodeProto) -> str:
        return REASON.format(op_type=end.op_type, node=end.name, periods=reach[end.name] / math.pi, kind=kind)

    return StaysFloat(
        {name: reason(end) for name, end in found.nodes.items()},
        {name: reason(end) for name, end in found.tensors.items()},
        {*found.nodes, *reach},
    )
