"""A Constant node is an initializer written differently."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from onnx import TensorProto, numpy_helper

from ort_vitis_plugin.api import Graph, Stage, attribute, transform


def _tensor(graph: Graph, name: str, value: TensorProto | None) -> TensorProto | None:
    if value is None:
        array = graph.array(name)
        return None if array is None else numpy_helper.from_array(array, name)
    tensor = TensorProto()
    tensor.CopyFrom(value)
    tensor.name = name
    return tensor


@transform("ConstantNodes", stage=Stage.NORMALIZE, default=None)
def constant_nodes(graph: Graph) -> int:
    """Turn Constant nodes into initializers of the same name; strings, sparse values and graph outputs stay."""
    count = 0
    for node in graph.of_type("Constant"):
        name = node.output[0]
        if name in graph.outputs:
            continue
        tensor = _tensor(graph, name, attribute(node, "value"))
        if tensor is None or tensor.data_type == TensorProto.STRING:
            continue
        graph.remove(node)
        graph.put_initializer(tensor)
        count += 1
    return count
