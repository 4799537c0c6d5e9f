"""An initializer that is also a graph input is a default that callers may replace: nothing can take it as constant.

IR versions below 4 demand that every initializer is an input; such a model becomes IR version 4.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin.api import Graph, Stage, transform


@transform("RemoveInputInit", stage=Stage.NORMALIZE)
def remove_input_init(graph: Graph) -> int:
    """Take initializers out of the graph inputs, which makes them constants."""
    listed = [name for name in graph.inputs if name in graph.initializers]
    if not listed:
        return 0
    for name in listed:
        del graph.inputs[name]
    kept = [value for value in graph.model.graph.input if value.name in graph.inputs]
    inputs = graph.model.graph.input
    del inputs[:]
    inputs.extend(kept)
    graph.inputs = {value.name: value for value in inputs}
    graph.values.update(graph.inputs)
    graph.model.ir_version = max(graph.model.ir_version, 4)
    return len(listed)
