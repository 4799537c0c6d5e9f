"""Newer DPUs apply PRelu while they write a result.

Source: option RemoveQDQConvPRelu of the Vitis AI Quantizer for ONNX 1.16 manual.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.api import fusion

from .pair import ACTIVATED, is_only_reader

if TYPE_CHECKING:
    from onnx import NodeProto

    from ort_vitis_plugin.api import Graph


@fusion("RemoveQDQConvPRelu", producers=ACTIVATED, consumers=("PRelu",), target="ipu_cnn", default=False)
def conv_prelu(graph: Graph, producer: NodeProto, consumer: NodeProto) -> bool:
    """No QDQ pair between a Conv (Add, Gemm, pool...) and the PRelu behind it."""
    return is_only_reader(graph, producer, consumer)
