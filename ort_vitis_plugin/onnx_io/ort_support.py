"""What the installed onnxruntime can run."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from functools import cache

import onnx
import onnxruntime
from onnx import ModelProto, NodeProto, TensorProto

from .sessions import SILENT, session_options

FLOAT = TensorProto.FLOAT
KNOWN_PAIRS = 21  # every onnxruntime from 1.20.1 on has the operators of this opset
FLOAT8 = frozenset(
    (
        TensorProto.FLOAT8E4M3FN,
        TensorProto.FLOAT8E4M3FNUZ,
        TensorProto.FLOAT8E5M2,
        TensorProto.FLOAT8E5M2FNUZ,
    )
)


@cache
def has_native_pairs(opset: int) -> bool:
    """Whether the installed onnxruntime has the QuantizeLinear of this opset: onnx's releases run ahead of it."""
    if onnx.defs.get_schema("QuantizeLinear", opset).since_version <= KNOWN_PAIRS:
        return True
    node = onnx.helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"])
    return _loads(node, [("x", FLOAT), ("s", FLOAT), ("z", TensorProto.INT8), ("y", TensorProto.INT8)], opset)


@cache
def has_float8_pairs(element_type: int, opset: int = KNOWN_PAIRS) -> bool:
    """Whether the installed onnxruntime quantizes to this float8 type, as pairs state it from opset 21 on."""
    node = onnx.helper.make_node("QuantizeLinear", ["x", "s"], ["y"], output_dtype=element_type)
    return _loads(node, [("x", FLOAT), ("s", FLOAT), ("y", element_type)], opset)


def has_float8(model: ModelProto) -> bool:
    """Whether the graph quantizes something to float8, or stores it so."""
    stored = {tensor.data_type for tensor in model.graph.initializer}
    made = {entry.i for node in model.graph.node for entry in node.attribute if entry.name == "output_dtype"}
    return bool(FLOAT8 & (stored | made))


def _loads(node: NodeProto, values: list[tuple[str, int]], opset: int) -> bool:
    *inputs, output = (onnx.helper.make_tensor_value_info(name, kind, []) for name, kind in values)
    graph = onnx.helper.make_graph([node], "probe", inputs, [output])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=10)
    quiet = session_options(severity=SILENT)
    try:
        onnxruntime.InferenceSession(model.SerializeToString(), quiet, providers=["CPUExecutionProvider"])
    except Exception:  # NotImplemented or Fail, by release
        return False
    return True
