"""Which nodes the DPU computes as one of its own operations, seen through the nodes that only simulate.

Source: option ConvertSigmoidToHardSigmoid of the Vitis AI Quantizer for ONNX 1.16 manual: alpha = 1/6, beta = 1/2.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.api import attribute

if TYPE_CHECKING:
    from onnx import NodeProto

    from ort_vitis_plugin.api import Graph

TOLERANCE = 1e-6


def is_device_hard_sigmoid(node: NodeProto) -> bool:
    """Whether the node is max(0, min(1, x / 6 + 0.5)), the only HardSigmoid that the DPU has."""
    return (
        node.op_type == "HardSigmoid"
        and abs(attribute(node, "alpha", 0.2) - 1 / 6) <= TOLERANCE
        and abs(attribute(node, "beta", 0.5) - 0.5) <= TOLERANCE
    )


def device_tensor(graph: Graph, tensor: str) -> str:
    """The tensor that the device writes: ``tensor``, or the one behind its simulation factor."""
    return graph.device_output.get(tensor, tensor)


def device_producer(graph: Graph, tensor: str) -> NodeProto | None:
    """The node that computes ``tensor``, looking through the nodes that only simulate."""
    producer = graph.producer(tensor)
    while producer is not None and producer.name in graph.device_nodes:
        producer = graph.producer(producer.input[0])
    return producer
