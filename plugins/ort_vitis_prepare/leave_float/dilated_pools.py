"""Between pairs onnxruntime makes QLinearAveragePool of AveragePool, which has no dilations, and refuses the model."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ort_vitis_plugin.api import Graph, Stage, StaysFloat, attribute, leave_float

if TYPE_CHECKING:
    from ort_vitis_plugin.api import Context

REASON = "onnxruntime's AveragePool on codes has no dilations"


@leave_float("FloatDilatedPools", stage=Stage.PREPARE)
def float_dilated_pools(graph: Graph, context: Context) -> StaysFloat:
    """Leave AveragePool with dilations float, and its result: no operator of onnxruntime averages such codes."""
    pools = graph.of_type("AveragePool")
    found = [node for node in pools if any(step != 1 for step in attribute(node, "dilations", ()))]
    return StaysFloat(
        {node.name: REASON for node in found}, {node.output[0]: REASON for node in found}, {node.name for node in found}
    )
