"""Weights that came as codes keep them, unless the request's format or method cannot have them.

Formats of AMD have operators of their own, and a method of powers of two gives a device that only shifts: for these
the weights become floats again, and are quantized once more. So do codes of types that no plan has.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import TensorProto, numpy_helper

from ort_vitis_plugin.api import Graph, Stage, StoredCodes, position_of, stored_codes, transform

if TYPE_CHECKING:
    from ort_vitis_plugin.api import Context

REASON = "the codes of {} were decoded: {} cannot keep them"


def _misfit(stored: StoredCodes, context: Context) -> str | None:
    if stored.kind is None:
        return f"a plan without the type {TensorProto.DataType.Name(stored.element_type)}"
    if not context.format.writer.keeps_stored_codes:
        return f"the format {context.format.key}"
    fits = stored.axis is None and position_of(float(stored.scale)) is not None and not stored.zero_point
    return None if fits or not context.method.power_of_two else f"the method {context.method.key}"


@transform("DecodeWeights", stage=Stage.NORMALIZE, default=None)
def decode_weights(graph: Graph, context: Context) -> int:
    """Decode weights that came quantized where the format or the method can do nothing with their codes."""
    count = 0
    for node in list(graph.of_type("DequantizeLinear")):
        tensor = node.output[0]
        stored = stored_codes(graph, tensor) if tensor not in graph.outputs else None
        why = stored and _misfit(stored, context)
        if stored is None or why is None:
            continue
        context.note(REASON.format(tensor, why))
        scale = graph.array(node.input[1])
        assert scale is not None
        graph.remove(node)
        graph.put_initializer(numpy_helper.from_array(stored.value().astype(scale.dtype), tensor))
        count += 1
    return count
