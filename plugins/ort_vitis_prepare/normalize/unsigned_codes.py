"""(c + 128) - (z + 128) = c - z: signed bytes are unsigned ones with another zero point, and those never saturate.

Without VNNI a CPU adds two products of an unsigned and a signed byte in 16 bits, which 255 * (127 + 127) exceeds.
onnxruntime's kernels for two unsigned bytes add in 32.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto

from ort_vitis_plugin.api import PRODUCTS, Graph, Stage, StoredCodes, stored_codes, transform

if TYPE_CHECKING:
    from ort_vitis_plugin.api import Context

SHIFT = 128
SEVEN_BITS = 64  # 255 * (64 + 64) fits in 16 bits
DONE = "the codes of {} are stored as unsigned bytes, {} higher: the same values, and no 16-bit sum of them saturates"


def _saturates(stored: StoredCodes) -> bool:
    """Whether integer kernels may take the codes and two products of them exceed 16 bits."""
    if stored.element_type != TensorProto.INT8 or stored.block_size or not stored.codes.size:
        return False
    # onnxruntime loads no matrices in a stack with zero points for their columns
    if stored.axis is not None and stored.axis == stored.codes.ndim - 1 > 1:
        return False
    return bool(np.abs(stored.codes.astype(np.int16)).max() > SEVEN_BITS)


@transform("UnsignedCodes", stage=Stage.NORMALIZE, default=None)
def unsigned_codes(graph: Graph, context: Context) -> int:
    """Store signed codes that weights came with as unsigned, where integer kernels of the CPU would saturate."""
    if not context.request.reduce_range or "cpu" not in context.lineage:
        return 0
    count = 0
    for node in graph.of_type("DequantizeLinear"):
        stored = stored_codes(graph, node.output[0])
        name = node.output[0]
        is_factor = any(reader.op_type in PRODUCTS for reader in graph.consumers(name))
        if not is_factor or stored is None or not _saturates(stored):
            continue
        codes = graph.add_initializer(f"{name}_unsigned", (stored.codes.astype(np.int16) + SHIFT).astype(np.uint8))
        scale = graph.array(node.input[1])
        assert scale is not None
        points = (stored.zero_point + SHIFT).astype(np.uint8).reshape(scale.shape)
        zero_point = graph.add_initializer(f"{name}_zero_unsigned", points)
        graph.set_inputs(node, [codes, node.input[1], zero_point])
        context.note(DONE.format(name, SHIFT))
        count += 1
    return count
