"""The mean square of a tensor's channels is computed where the tensor is: nodes that give one sum per channel."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from onnx import ModelProto

    from ..channel_squares import Channels

PREFIX = "energy_of_channels"
AXES_AS_INPUT = 18  # opset


def sums_name(number: int) -> str:
    """The tensor with the sums of squares of so manieth channels [C], float32."""
    return f"{PREFIX}/{number}/sums"


def size_name(number: int) -> str:
    """The tensor with the number of values of which they are made, all channels together, int64."""
    return f"{PREFIX}/{number}/size"


def nodes_of(number: int, channels: Channels, opset: int) -> tuple[list[NodeProto], list[TensorProto]]:
    """(nodes, constants) that give both of a tensor of floats."""
    base = f"{PREFIX}/{number}"
    value, sums = f"{base}/value", sums_name(number)
    nodes = [helper.make_node("Cast", [channels.tensor], [value], f"{base}/Cast", to=TensorProto.FLOAT)]
    constants = []
    axes = [axis for axis in range(channels.rank) if axis != channels.axis]
    if not channels.rank:
        nodes.append(helper.make_node("Reshape", [value, f"{base}/shape"], [f"{base}/rows"], f"{base}/Reshape"))
        constants.append(numpy_helper.from_array(np.array([-1, channels.size], np.int64), f"{base}/shape"))
        value, axes = f"{base}/rows", [0]
    if opset < AXES_AS_INPUT:
        reduce = helper.make_node("ReduceSumSquare", [value], [sums], f"{base}/ReduceSumSquare", axes=axes, keepdims=0)
    else:
        constants.append(numpy_helper.from_array(np.array(axes, np.int64), f"{base}/axes"))
        reduce = helper.make_node(
            "ReduceSumSquare", [value, f"{base}/axes"], [sums], f"{base}/ReduceSumSquare", keepdims=0
        )
    nodes += [reduce, helper.make_node("Size", [channels.tensor], [size_name(number)], f"{base}/Size")]
    return nodes, constants


def attach_energies(model: ModelProto, wanted: list[Channels]) -> Iterator[str]:
    """Add the nodes to a model; yields the names of what they give, the sums and the sizes."""
    opset = next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 1)
    for number, channels in enumerate(wanted):
        nodes, constants = nodes_of(number, channels, opset)
        model.graph.node.extend(nodes)
        model.graph.initializer.extend(constants)
        for name, kind in ((sums_name(number), TensorProto.FLOAT), (size_name(number), TensorProto.INT64)):
            model.graph.output.append(helper.make_tensor_value_info(name, kind, None))
            yield name
