"""The custom ops under AMD Quark's names or under those of Vitis, which AMD's execution provider looks for."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import AttributeProto, ModelProto, helper

from ort_vitis_plugin.custom_ops.domains import QUARK_DOMAIN, VAI_DOMAIN
from ort_vitis_plugin.errors import UnknownNameError, suggest
from ort_vitis_plugin.foreign import public
from ort_vitis_plugin.plugin.op_functions import define_ops

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnx import NodeProto

# Same kernels, same attributes, two names.
_NAMES = {
    "VitisQuantizeLinear": "ExtendedQuantizeLinear",
    "VitisDequantizeLinear": "ExtendedDequantizeLinear",
    "VitisInstanceNormalization": "ExtendedInstanceNormalization",
    "VitisLSTM": "ExtendedLSTM",
    "BFPFixNeuron": "BFPQuantizeDequantize",
    "MXFixNeuron": "MXQuantizeDequantize",
}
_TABLES = {
    QUARK_DOMAIN: (VAI_DOMAIN, _NAMES),
    VAI_DOMAIN: (QUARK_DOMAIN, {quark: vitis for vitis, quark in _NAMES.items()}),
}


def _rename(nodes: Iterable[NodeProto], source: str, domain: str, names: dict[str, str]) -> int:
    count = 0
    for node in nodes:
        if node.domain == source and node.op_type in names:
            node.domain, node.op_type = domain, names[node.op_type]
            count += 1
        for entry in node.attribute:
            if entry.type == AttributeProto.GRAPH:
                count += _rename(entry.g.node, source, domain, names)
            for graph in entry.graphs:
                count += _rename(graph.node, source, domain, names)
    return count


@public
def rename_ops(model: ModelProto, domain: str = VAI_DOMAIN) -> ModelProto:
    """The model with the custom ops of the other domain under their names in ``domain``, bodies included.

    ``domain`` is "com.vai.quantize" or "com.amd.quark". ``model`` stays as it is.

    Raises:
        UnknownNameError: the domain is none that custom ops have.
    """
    if domain not in _TABLES:
        raise UnknownNameError(f"{domain!r} is neither {VAI_DOMAIN!r} nor {QUARK_DOMAIN!r}{suggest(domain, _TABLES)}")
    source, names = _TABLES[domain]
    result = ModelProto()
    result.CopyFrom(model)
    ours = {(source, name) for name in names}
    kept = [function for function in result.functions if (function.domain, function.name) not in ours]
    del result.functions[:]
    result.functions.extend(kept)
    changed = _rename(result.graph.node, source, domain, names)
    for function in result.functions:
        changed += _rename(function.node, source, domain, names)
    if changed and all(entry.domain != domain for entry in result.opset_import):
        result.opset_import.append(helper.make_opsetid(domain, 1))
    define_ops(result)
    return result
