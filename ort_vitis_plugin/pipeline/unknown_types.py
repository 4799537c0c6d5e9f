"""What an operator of a foreign domain writes has the type that the caller says: no inference knows it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from ..graph import DEFAULT_DOMAINS, Graph
from ..options.ort_options import OrtOptions
from .optimize import infer_shapes

if TYPE_CHECKING:
    from ..request.call import Call


def with_default_types(graph: Graph, call: Call) -> Graph:
    """The graph with DefaultTensorType for outputs of foreign operators that have no type, and what follows from it."""
    element_type = call.settings.options[OrtOptions].default_tensor_type
    unknown = [
        name
        for node in graph
        if node.domain not in DEFAULT_DOMAINS
        for name in node.output
        if name and not graph.element_type(name)
    ]
    if not element_type or not unknown:
        return graph
    for name in unknown:
        graph.describe(name, element_type, graph.shape(name))
    return Graph(infer_shapes(graph.write_back()), copy=False)
