"""A model with an index: producer, consumers, initializers, shapes are looked up, never searched."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from .graph import Graph, Skip
from .nodes import DEFAULT_DOMAINS, attribute, constant_value, has_input
from .subgraphs import body_names, captured_names, inner_nodes, rename_captured, rename_tensors, subgraphs, walk

__all__ = [
    "DEFAULT_DOMAINS",
    "Graph",
    "Skip",
    "attribute",
    "body_names",
    "captured_names",
    "constant_value",
    "has_input",
    "inner_nodes",
    "rename_captured",
    "rename_tensors",
    "subgraphs",
    "walk",
]
