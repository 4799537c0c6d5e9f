"""What moves a weight that came as codes may move the codes: Transpose(codes * s) = Transpose(codes) * s.

Behind a DequantizeLinear onnxruntime would round the moved weight a second time.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ort_vitis_plugin.api import (
    DEFAULT_DOMAINS,
    RESHAPES,
    Graph,
    Stage,
    StoredCodes,
    attribute,
    integers,
    stored_codes,
    transform,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import NodeProto


def _transposed(node: NodeProto, stored: StoredCodes) -> tuple[int | None, dict[str, NDArray[np.generic]]]:
    perm = list(attribute(node, "perm", range(stored.codes.ndim)[::-1]))
    arrays: dict[str, NDArray[np.generic]] = {"codes": stored.codes.transpose(perm)}
    if stored.block_size:
        arrays |= {"scale": stored.scale.transpose(perm), "zero_point": stored.zero_point.transpose(perm)}
    return (None if stored.axis is None else perm.index(stored.axis)), arrays


def _reshaped(graph: Graph, node: NodeProto, stored: StoredCodes) -> NDArray[np.generic] | None:
    shape = graph.static_shape(node.output[0])
    if shape is None and node.op_type == "Reshape":
        listed = integers(graph, node, "shape", 1)
        shape = None if listed is None or 0 in listed else np.empty(stored.codes.shape, np.int8).reshape(listed).shape
    return None if shape is None else stored.codes.reshape(shape)


def _replace(graph: Graph, node: NodeProto, stored: StoredCodes) -> bool:
    """Give the node's result codes of its own; False where the codes cannot follow."""
    axis, arrays = stored.axis, dict[str, "NDArray[np.generic]"]()
    if node.op_type == "Transpose":
        axis, arrays = _transposed(node, stored)
    elif stored.axis is None and (moved := _reshaped(graph, node, stored)) is not None:
        arrays["codes"] = moved
    else:
        return False
    names = dict(zip(("codes", "scale", "zero_point"), stored.node.input, strict=False))
    for part, array in arrays.items():
        if names.get(part):
            like = graph.array(names[part])
            assert like is not None
            names[part] = graph.add_initializer(f"{node.output[0]}_{part}", np.ascontiguousarray(array, like.dtype))
    attributes = {"axis": axis} if axis is not None else {}
    if stored.block_size:
        attributes["block_size"] = stored.block_size
    domain = stored.node.domain or None
    graph.remove(node)
    if not graph.consumers(stored.node.output[0]) and stored.node.output[0] not in graph.outputs:
        graph.remove(stored.node)
    graph.make("DequantizeLinear", list(names.values()), [node.output[0]], node.name, domain=domain, **attributes)
    return True


@transform("MoveCodes", stage=Stage.NORMALIZE, default=None)
def move_codes(graph: Graph) -> int:
    """Move the codes of weights that came quantized, where the model transposes or reshapes the weights."""
    count = 0
    for node in graph.sorted():
        if node.op_type not in RESHAPES | {"Transpose"} or node.domain not in DEFAULT_DOMAINS:
            continue
        stored = stored_codes(graph, node.input[0])
        if stored is None or node.output[0] in graph.outputs or node.name in graph.kept:
            continue
        count += _replace(graph, node, stored)
    return count
