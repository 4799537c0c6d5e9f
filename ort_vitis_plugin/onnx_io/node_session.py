"""A node alone, as onnxruntime computes it in a file that it takes as written."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnx
from onnx import numpy_helper

from .sessions import AS_WRITTEN, REFUSALS, open_session

if TYPE_CHECKING:
    from collections.abc import Mapping

    import onnxruntime as ort
    from numpy.typing import NDArray
    from onnx import NodeProto

IR_VERSION = 8  # of the format; operators have versions of their own


def node_session(
    node: NodeProto, types: Mapping[str, int], opset: int, constants: Mapping[str, NDArray[Any]], threads: int = 0
) -> ort.InferenceSession | None:
    """A session that takes inputs of ``node``, of these element types and any shape, and gives its outputs.

    ``constants`` are the other inputs: onnxruntime packs some, and then sums in another order. None where it has no
    kernel for the node. ``threads`` compute, 0 for as many as in any session: on their number depends in which order a
    product is summed. A node alone is too short for them to wait busily for its next run.
    """

    def set_threads(options: ort.SessionOptions) -> None:
        options.intra_op_num_threads = threads
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")

    inputs = [onnx.helper.make_tensor_value_info(name, kind, None) for name, kind in types.items()]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
    held = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = onnx.helper.make_graph([node], "node", inputs, outputs, held)
    opsets = [onnx.helper.make_opsetid("", opset)]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
    try:
        return open_session(model, [set_threads], AS_WRITTEN)
    except REFUSALS:
        return None
