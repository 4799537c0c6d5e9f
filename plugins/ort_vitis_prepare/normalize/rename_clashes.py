"""Names of the quantized model follow from the tensor's: t_scale, t_quantized... A graph that was quantized once,
or just names things so, may hold such a name already; it makes room."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import TensorProto

from ort_vitis_plugin.api import GENERATED_SUFFIXES, Graph, Stage, follow_node, follow_tensor, transform

if TYPE_CHECKING:
    from ort_vitis_plugin.api import Run


def _clashes(name: str, tensors: set[str]) -> bool:
    return any(name.endswith(suffix) and name.removesuffix(suffix) in tensors for suffix in GENERATED_SUFFIXES)


def _rename_tensor(graph: Graph, old: str, new: str) -> None:
    graph.replace_uses(old, new)
    producer = graph.producer(old)
    if producer is not None:
        graph.set_outputs(producer, [new if tensor == old else tensor for tensor in producer.output])
    if old in graph.initializers:
        tensor = TensorProto()
        tensor.CopyFrom(graph.initializers.pop(old))
        tensor.name = new
        graph.put_initializer(tensor)
    value = graph.values.pop(old, None)
    if value is not None:
        value.name = new
        graph.values[new] = value


@transform("RenameClashes", stage=Stage.NORMALIZE, default=None)
def rename_clashes(graph: Graph, run: Run | None = None) -> int:
    """Rename inner tensors, constants and nodes whose names the quantized model needs for another tensor."""
    made = {tensor for node in graph for tensor in node.output if tensor}
    tensors = made | graph.initializers.keys() | graph.inputs.keys()
    count = 0
    for node in graph:
        if _clashes(node.name, tensors):
            old, node.name = node.name, graph.unique(node.name)
            follow_node(run, old, node.name)
            count += 1
    for old in sorted(tensors - graph.inputs.keys() - graph.outputs.keys()):
        if _clashes(old, tensors):
            new = graph.unique(old)
            _rename_tensor(graph, old, new)
            follow_tensor(run, old, new)
            count += 1
    return count
