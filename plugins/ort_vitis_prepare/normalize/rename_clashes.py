"""Names of the quantized model follow from the tensor's: t_scale, t_quantized... A graph that was quantized once,
or just names things so, may hold such a name already; it makes room."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from ort_vitis_plugin.api import GENERATED_SUFFIXES, Graph, Stage, transform


def _clashes(name: str, tensors: set[str]) -> bool:
    if not name.endswith(GENERATED_SUFFIXES):
        return False
    return any(name.endswith(suffix) and name.removesuffix(suffix) in tensors for suffix in GENERATED_SUFFIXES)


@transform("RenameClashes", stage=Stage.NORMALIZE, default=None)
def rename_clashes(graph: Graph) -> int:
    """Rename inner tensors, constants and nodes whose names the quantized model needs for another tensor."""
    made = {tensor for node in graph for tensor in node.output if tensor}
    tensors = made | graph.initializers.keys() | graph.inputs.keys()
    count = 0
    for node in graph:
        if _clashes(node.name, tensors):
            graph.rename_node(node, graph.unique(node.name))
            count += 1
    for old in sorted(tensors - graph.inputs.keys() - graph.outputs.keys()):
        if _clashes(old, tensors):
            graph.rename_tensor(old, graph.unique(old))
            count += 1
    return count
