"""Newer DPUs apply LeakyRelu while they write a result.

Source: option RemoveQDQConvLeakyRelu of the Vitis AI Quantizer for ONNX 1.16 manual.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.api import fusion

from .pair import ACTIVATED, is_only_reader

if TYPE_CHECKING:
    from onnx import NodeProto

    from ort_vitis_plugin.api import Graph


@fusion("RemoveQDQConvLeakyRelu", producers=ACTIVATED, consumers=("LeakyRelu",), target="ipu_cnn", default=False)
def conv_leaky_relu(graph: Graph, producer: NodeProto, consumer: NodeProto) -> bool:
    """No QDQ pair between a Conv (Add, Gemm, pool...) and the LeakyRelu behind it."""
    return is_only_reader(graph, producer, consumer)
