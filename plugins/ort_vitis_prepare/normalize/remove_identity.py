"""An Identity hides from every later step that two names are one tensor."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin.api import Graph, Stage, transform


@transform("RemoveIdentity", stage=Stage.NORMALIZE, default=None)
def remove_identity(graph: Graph) -> int:
    """Remove Identity, except between a graph input or constant and a graph output, which need two names."""
    return sum(graph.bypass(node) for node in graph.of_type("Identity"))
