"""How many entries an output has may depend on the data: boxes that are kept, rows that pass a test.

After quantization there may be a few more or fewer of them, and what stands at one place may be another entry.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..graph import Graph
from ..graph.op_sets import SIZE_OPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from onnx import ModelProto

# Operators whose values, not shapes, decide how many entries come out.
COUNTING = frozenset({"Compress", "NonMaxSuppression", "NonZero", "Range", "StringSplit", "Unique"})


def open_outputs(model: ModelProto) -> set[str]:
    """Outputs of the graph without a fixed size behind an operator that counts by what it is fed."""
    if not any(node.op_type in COUNTING for node in model.graph.node):
        return set()
    graph = Graph(model, copy=False)
    fed: dict[str, bool] = {name: name not in graph.initializers for name in graph.inputs}
    counted: set[str] = set()
    for node in graph.sorted():
        read = [name for name in graph.reads(node) if name]
        depends = node.op_type not in SIZE_OPS and any(fed.get(name, False) for name in read)
        counts = node.op_type not in SIZE_OPS and any(name in counted for name in read)
        for name in filter(None, node.output):
            fed[name] = depends
            if counts or (depends and node.op_type in COUNTING):
                counted.add(name)
    return {name for name in graph.outputs if name in counted and graph.static_shape(name) is None}


def sizes_told(name: str, rows: Iterable[Sequence[Any]], compared: str = "") -> str:
    """One sentence on an output of open size; ``rows`` are its values in float and quantized, sample by sample."""
    pairs = [(list(row[0].shape), [part.shape for part in row[1:]]) for row in rows]
    other = [(f, list(found[0])) for f, found in pairs if any(list(shape) != f for shape in found)]
    text = f"output {name}: its size depends on the data, so an entry may stand where float has another"
    if other:
        first = next((pair for pair in other if pair[0] != pair[1]), other[0])
        text += f"; {len(other)} of {len(pairs)} samples have another size ({first[1]}, in float {first[0]})"
    return f"{text}; {compared}" if compared else text
