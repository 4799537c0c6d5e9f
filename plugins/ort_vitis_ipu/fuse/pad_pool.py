"""The DPU pads while it reads the data of an average pool.

Source: models of the Vitis AI Quantizer for ONNX 1.16, which carry no pair between the two with enable_dpu.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.api import fusion

from .pair import is_only_reader

if TYPE_CHECKING:
    from onnx import NodeProto

    from ort_vitis_plugin.api import Graph


@fusion("FusePadPool", producers=("Pad",), consumers=("AveragePool", "GlobalAveragePool"), target="ipu_cnn")
def pad_pool(graph: Graph, producer: NodeProto, consumer: NodeProto) -> bool:
    """No QDQ pair between a Pad and the average pool behind it."""
    return is_only_reader(graph, producer, consumer)
