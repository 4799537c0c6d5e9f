"""A forecast of what the NPU's CNN engine takes, before any compiler has seen the model.

Source: what AMD publishes for its AI-Engine DPU (user guide UG1414, "Currently Supported Operators", column
DPUCV2DX8G); the compiler of a given driver may take more or less.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onnx import TensorProto

from ort_vitis_plugin.api import CONVOLUTIONS, DEFAULT_DOMAINS, QUANTIZED_FLOATS, attribute

from .device_form import is_device_hard_sigmoid

if TYPE_CHECKING:
    from onnx import NodeProto

    from ort_vitis_plugin.api import Graph

CHANNELS = 256 * 32  # 256 groups of 32 channels that are computed side by side

_ON_DEVICE = (
    "Add AveragePool BatchNormalization Clip Concat Conv ConvTranspose DepthToSpace Flatten Gemm GlobalAveragePool "
    "HardSigmoid HardSwish LeakyRelu MatMul Max MaxPool Mul PRelu Pad ReduceMax ReduceMean Relu Reshape Resize Sigmoid "
    "Slice Softmax SpaceToDepth Split Squeeze Sub Transpose Unsqueeze"
)
ON_DEVICE = frozenset(_ON_DEVICE.split())


@dataclass(frozen=True)
class Window:
    """Limits of a sliding window: of each side, of its area, of each stride."""

    side: int
    stride: int
    area: int = 2**31


WINDOWS = {
    "Conv": Window(side=16, stride=8),
    "ConvTranspose": Window(side=16, stride=16),
    "MaxPool": Window(side=256, stride=256),
    "AveragePool": Window(side=256, stride=256, area=512),
    "GlobalAveragePool": Window(side=256, stride=256, area=512),
}


def _shape_reasons(graph: Graph, node: NodeProto) -> Iterator[str]:
    for tensor in (node.input[0], node.output[0]):
        shape = graph.shape(tensor)
        if shape is None:
            yield f"the shape of {tensor} is unknown"
        elif any(not isinstance(dim, int) for dim in shape):
            yield f"dynamic shape: {tensor} is [{', '.join(map(_size, shape))}]"
        elif len(shape) > 4:
            yield f"rank {len(shape)}: the NPU's tensors have at most 4 dimensions"
        elif len(shape) == 4 and shape[0] != 1:
            yield f"batch of {shape[0]}: the NPU takes one image at a time"


def _size(dim: int | str | None) -> str:
    """A number, a name, or '?' for what is unknown or a formula over several names."""
    return "?" if dim is None or (isinstance(dim, str) and re.search(r"[\s()*/+]", dim)) else str(dim)


def _kernel(graph: Graph, node: NodeProto) -> tuple[int, ...]:
    explicit = attribute(node, "kernel_shape")
    if explicit:
        return tuple(explicit)
    source = node.input[0] if node.op_type == "GlobalAveragePool" else node.input[1]
    return (graph.static_shape(source) or ())[2:]


def _window_reasons(graph: Graph, node: NodeProto) -> Iterator[str]:
    limits, kernel = WINDOWS[node.op_type], _kernel(graph, node)
    rank = len(graph.shape(node.input[0]) or ())
    if rank and rank != 4:
        yield f"rank {rank}: the NPU's windows slide in two dimensions"
    if any(side > limits.side for side in kernel):
        yield f"kernel {list(kernel)}: the NPU takes at most {limits.side} in a direction"
    if math.prod(kernel) > limits.area:
        yield f"kernel {list(kernel)} covers {math.prod(kernel)} values: the NPU takes at most {limits.area}"
    strides = list(attribute(node, "strides", []))
    if any(stride > limits.stride for stride in strides):
        yield f"strides {strides}: the NPU takes at most {limits.stride}"
    padded = any(attribute(node, "pads", [])) or attribute(node, "auto_pad", b"").startswith(b"SAME")
    if node.op_type == "AveragePool" and padded and not attribute(node, "count_include_pad", 0):
        yield "count_include_pad=0 with padding: the NPU divides by the whole window"


def _convolution_reasons(graph: Graph, node: NodeProto) -> Iterator[str]:
    if graph.array(node.input[1]) is None:
        yield f"the weights {node.input[1]} are computed at run time"
        return
    shape = graph.shape(node.input[1]) or ()
    dilations = [*attribute(node, "dilations", []), 1]
    if len(shape) > 1 and isinstance(shape[1], int) and max(dilations) * shape[1] > CHANNELS:
        yield f"dilation {max(dilations)} times {shape[1]} channels: the NPU takes at most {CHANNELS}"
    data = graph.shape(node.output[0]) or ()
    if len(data) > 1 and isinstance(data[1], int) and data[1] > CHANNELS:
        yield f"{data[1]} output channels: the NPU takes at most {CHANNELS}"


def _function_reasons(graph: Graph, node: NodeProto) -> Iterator[str]:
    if node.op_type == "HardSigmoid" and not is_device_hard_sigmoid(node):
        yield "alpha and beta: the NPU computes x / 6 + 0.5 only"
    if node.op_type == "Resize" and attribute(node, "mode", b"nearest") == b"cubic":
        yield "mode cubic: the NPU resizes by nearest or linear interpolation"
    if node.op_type == "Pad" and attribute(node, "mode", b"constant") not in (b"constant", b"reflect"):
        yield f"mode {attribute(node, 'mode').decode()}: the NPU pads with constants or by reflection"
    if node.op_type == "BatchNormalization" and any(graph.array(tensor) is None for tensor in node.input[1:]):
        yield "its parameters are computed at run time"


def _reasons(graph: Graph, node: NodeProto) -> Iterator[str]:
    if node.domain not in DEFAULT_DOMAINS:
        yield f"an operator of the domain {node.domain}"
        return
    if node.op_type not in ON_DEVICE:
        yield f"the NPU's CNN engine has no {node.op_type}"
        return
    element_type = graph.element_type(node.input[0])
    if element_type and element_type not in QUANTIZED_FLOATS:
        yield f"works on {TensorProto.DataType.Name(element_type).lower()}, not on quantized data"
    yield from _shape_reasons(graph, node)
    if node.op_type in WINDOWS:
        yield from _window_reasons(graph, node)
    if node.op_type in CONVOLUTIONS:
        yield from _convolution_reasons(graph, node)
    yield from _function_reasons(graph, node)


def placement(graph: Graph, node: NodeProto) -> str | None:
    """Why the node will not run on the NPU, or None where nothing speaks against it."""
    if node.name in graph.device_nodes:
        return None
    return next(_reasons(graph, node), None)
