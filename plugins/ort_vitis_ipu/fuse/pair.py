"""A pair fuses when nobody else needs the tensor in between; each pair is judged on its own."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ..device_form import device_tensor

if TYPE_CHECKING:
    from onnx import NodeProto

    from ort_vitis_plugin.api import Graph

# Operations with an activation unit behind them.
ACTIVATED = ("Conv", "ConvTranspose", "Add", "MaxPool", "AveragePool", "GlobalAveragePool", "MatMul", "Gemm")


def is_only_reader(graph: Graph, producer: NodeProto, consumer: NodeProto) -> bool:
    """Whether what the device writes for ``producer`` is read by ``consumer`` alone, as its data, and is no output."""
    tensor = device_tensor(graph, producer.output[0])
    return graph.sole_consumer(tensor) is consumer and consumer.input[0] == tensor
